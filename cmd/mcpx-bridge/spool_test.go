package main

import (
	"io"
	"runtime"
	"strings"
	"testing"
)

// A log that nobody reads must not stop the bridge, and what was lost is said.
func TestASpoolNeverWaits(t *testing.T) {
	out, in := io.Pipe()
	s := newSpool(in, logLinesLost)
	line := []byte(strings.Repeat("x", 1023) + "\n")
	for range 3 * spooled / len(line) { // more than waits and is being written together
		if _, err := s.Write(line); err != nil {
			t.Fatal(err)
		}
	}
	text := make(chan string)
	go func() {
		all, _ := io.ReadAll(out)
		text <- string(all)
	}()
	for !s.roomy() {
		runtime.Gosched()
	}
	s.Write([]byte("the last\n"))
	s.close()
	in.Close()
	got := <-text
	if !strings.Contains(got, "log lines were lost") || !strings.HasSuffix(got, "the last\n") {
		t.Errorf("it ends with %q", got[max(0, len(got)-200):])
	}
	if _, err := s.Write([]byte("after\n")); err == nil {
		t.Error("it took a line after close")
	}
}

func (s *spool) roomy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.lines) < spooled/2
}

// One line, one system call, and a busy bridge would spend its time on telling.
func TestWhatWaitsIsWrittenAtOnce(t *testing.T) {
	w := &slowWriter{begun: make(chan string), end: make(chan struct{})}
	s := newSpool(w, logLinesLost)
	s.Write([]byte("first\n"))
	first := <-w.begun
	for _, line := range []string{"second\n", "third\n", "fourth\n"} {
		s.Write([]byte(line))
	}
	w.end <- struct{}{}
	rest := <-w.begun
	w.end <- struct{}{}
	s.close()
	if first != "first\n" || rest != "second\nthird\nfourth\n" {
		t.Errorf("written as %q and %q", first, rest)
	}
}

// A slowWriter tells of each Write and lets it end when told to.
type slowWriter struct {
	begun chan string
	end   chan struct{}
}

func (w *slowWriter) Write(text []byte) (int, error) {
	w.begun <- string(text)
	<-w.end
	return len(text), nil
}
