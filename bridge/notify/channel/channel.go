package channel

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/fault"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/private"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// A Channel is one way out. Its methods may be called from many goroutines at a time.
type Channel interface {
	// Send tells of something. The ref that it returns is by which the channel knows again what
	// it told, "" if it need not; the Notices that follow about the same question have it.
	Send(ctx context.Context, n *Notice) (ref string, err error)
}

// A Listener is a Channel by which people can answer.
type Listener interface {
	Channel

	// Listen hands each answer to take, whose words go back to whoever gave it. It returns
	// when it has lost the way by which they come, or ctx ends, and may be called again. An
	// answer waits for the one before it, which may take some seconds.
	Listen(ctx context.Context, take func(context.Context, Answer) string) error
}

// An Answer is what somebody said to a question, as the channel has it. Whose it is, and whether
// it counts, it does not know.
type Answer struct {
	Person   string // the id in the channel of whoever gave it
	Question string // its id
	Digest   string // the short one that was shown
	Allow    bool
}

// Options are what a Channel is made with beside what the policy says of it.
type Options struct {
	Env    []string                         // for commands
	Getenv func(name string) (string, bool) // for secrets
	Within time.Duration                    // how long a command may take; 30 s
}

// An Error is why a notice was not taken, or no answers come.
type Error struct {
	Err    error
	Final  bool          // it will not be taken later either
	After  time.Duration // it may be later; 0: the other side does not say when
	Sent   bool          // it was taken, but not for all whom the channel leads to
	Shared bool          // somebody else takes the answers, or takes some
}

func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns what it is about.
func (e *Error) Unwrap() error { return e.Err }

func refused(format string, a ...any) error {
	return &Error{Err: fmt.Errorf(format, a...), Final: true}
}

// secrets are a channel with the values that are not in the policy.
type secrets struct {
	policy.Channel
	getenv func(string) (string, bool)
	hidden *hidden // those that were read
}

// read reads a secret; "" for one that the channel does not have.
func (s secrets) read(name string) (string, error) {
	v, has := s.Secrets[name]
	if !has {
		return "", nil
	}
	return s.value(name, v)
}

// web reads where a channel leads that is a URL.
func (s secrets) web() (string, error) {
	at, err := s.value(s.Kind, s.To[0])
	if err == nil {
		if err = policy.CheckWeb(at); err != nil {
			err = fault.Misuse("", "notify.%s.%s: %w", s.Name, s.Kind, err)
		}
		s.hidden.addURL(at)
	}
	return at, err
}

// maxSecret is how many bytes a secret has at most.
const maxSecret = 4 << 10

func (s secrets) value(key string, v policy.Value) (said string, err error) {
	if said, err = s.find(key, v); err == nil {
		s.hidden.add(said)
	}
	return said, err
}

func (s secrets) find(key string, v policy.Value) (string, error) {
	where := "notify." + s.Name + "." + key
	said := v.Text
	switch {
	case v.Env != "":
		var there bool
		if said, there = s.getenv(v.Env); !there || said == "" {
			return "", fault.Misuse("set it where the bridge is started, or write file:PATH", "%s: there is no variable %s", where, v.Env)
		}
	case v.File != "":
		text, err := private.Read(v.File, maxSecret+1, private.Care{Check: private.Closed})
		switch {
		case errors.Is(err, private.ErrOpen):
			return "", fault.Misuse("chmod 600 "+v.File, "%s: %w", where, err)
		case err != nil:
			return "", fault.Misuse("", "%s: %w", where, err)
		}
		said = strings.TrimSpace(string(text))
	}
	if said == "" || len(said) > maxSecret || strings.ContainsFunc(said, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return "", fault.Misuse("", "%s: %s holds no single line of text", where, v)
	}
	return said, nil
}
