package asyncwriter

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
)

func linesLost(n int) []byte { return fmt.Appendf(nil, "%d log lines were lost\n", n) }

// A log that nobody reads must not stop the bridge, and what was lost is said.
func TestAWriterNeverWaits(t *testing.T) {
	out, in := io.Pipe()
	s := New(in, linesLost)
	line := []byte(strings.Repeat("x", 1023) + "\n")
	for range 3 * Most / len(line) { // more than waits and is being written together
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
	s.Close()
	in.Close()
	got := <-text
	if !strings.Contains(got, "log lines were lost") || !strings.HasSuffix(got, "the last\n") {
		t.Errorf("it ends with %q", got[max(0, len(got)-200):])
	}
	if _, err := s.Write([]byte("after\n")); err == nil {
		t.Error("it took a line after close")
	}
}

func (s *Writer) roomy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.lines) < Most/2
}

// One line, one system call, and a busy bridge would spend its time on telling.
func TestWhatWaitsIsWrittenAtOnce(t *testing.T) {
	w := &slowWriter{begun: make(chan string), end: make(chan struct{})}
	s := New(w, linesLost)
	s.Write([]byte("first\n"))
	first := <-w.begun
	for _, line := range []string{"second\n", "third\n", "fourth\n"} {
		s.Write([]byte(line))
	}
	w.end <- struct{}{}
	rest := <-w.begun
	w.end <- struct{}{}
	s.Close()
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
