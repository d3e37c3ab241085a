package prompt_test

import (
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/prompt"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/prompt/prompttest"
)

// A person sits at a terminal before a Prompt.
type person struct {
	*prompttest.Terminal
	*testing.T
	p    *prompt.Prompt
	done chan error
}

// sit sits somebody down before the bridges in dir.
func sit(t *testing.T, dir string, o prompt.Options, columns, lines int) *person {
	t.Helper()
	return sitBefore(t, prompt.Bridges(dir, nil), o, columns, lines)
}

func sitBefore(t *testing.T, find prompt.Finder, o prompt.Options, columns, lines int) *person {
	t.Helper()
	term := prompttest.Open(t, columns, lines)
	if o.Guard == 0 {
		o.Guard = time.Nanosecond
	}
	o.In, o.Out = term.Slave, term.Slave
	s := &person{Terminal: term, T: t, p: prompt.New(o), done: make(chan error, 1)}
	go func() { s.done <- s.p.Run(t.Context(), find) }()
	t.Cleanup(s.leaves)
	return s
}

// leaves waits until the Prompt has ended: somebody quit, or the test is over.
func (s *person) leaves() {
	select {
	case err := <-s.done:
		if err != nil {
			s.Error(err)
		}
		s.done <- nil
	case <-time.After(20 * time.Second):
		s.Error("the prompt does not end")
	}
}
