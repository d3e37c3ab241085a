package watchdog

import (
	"io"
	"strings"
	"sync"
	"testing"
	"time"
)

// hangs are ways to wait for what does not come before the returned function is called.
var hangs = map[string]func(t *testing.T) (end func()){
	"a channel": func(t *testing.T) func() {
		never, end := make(chan struct{}), make(chan struct{})
		go func() { <-end; close(never) }()
		waitsFor(t, func() { <-never })
		return func() { close(end) }
	},
	"a pipe": func(t *testing.T) func() {
		r, w := io.Pipe()
		waitsFor(t, func() { r.Read(make([]byte, 1)) })
		return func() { w.Close() }
	},
	"a group": func(t *testing.T) func() {
		var all sync.WaitGroup
		all.Add(1)
		waitsFor(t, all.Wait)
		return all.Done
	},
}

// waitsFor begins a test that hangs, beside the one that looks at it.
func waitsFor(t *testing.T, what func()) {
	go testing.RunTests(func(string, string) (bool, error) { return true, nil }, []testing.InternalTest{{Name: t.Name(), F: func(*testing.T) { what() }}})
}

func TestATestThatHangsIsNamed(t *testing.T) {
	for name, hang := range hangs {
		t.Run(name, func(t *testing.T) {
			end := hang(t)
			defer end()
			why := "" // that another goroutine has come to wait nobody tells us, so it is looked for
			for late := time.Now().Add(time.Minute); why == "" && time.Now().Before(late); time.Sleep(time.Millisecond) {
				why = Stuck(stacks(), 0)
			}
			line, _, _ := strings.Cut(why, "\n")
			if !strings.Contains(line, "watchdog.waitsFor.func") || !strings.Contains(line, "watchdog_test.go:") {
				t.Errorf("said %q", line)
			}
		})
	}
}
