package token

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/fault"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/private"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/topic"
	"github.com/mcpx-protocol/mcpx-bridge/stdio"
)

const (
	maxToken     = 16 << 10     // bytes of a token
	maxTokenText = 4 * maxToken // and with the white space around it
)

// A Source yields the token for a gateway that is not ours, and remembers
// what it gave out, so that no trace of the traffic shows it.
type Source struct {
	fetch func(ctx context.Context) (string, error)

	mu    sync.Mutex
	given map[string]bool
	ready string // fetched by First and not asked for yet
}

// Static is a source of one token, "" for none, which some gateways accept. An error begins
// with source.
func Static(source, text string) (*Source, error) {
	token, err := tidy(source, []byte(text), true)
	if err != nil {
		return nil, err
	}
	return &Source{fetch: func(context.Context) (string, error) { return token, nil }}, nil
}

// File is a source that reads a file, each time anew, and looks whether it can now.
func File(name string) (*Source, error) {
	if _, err := FromFile(name); err != nil {
		return nil, err // now, not after the server has started
	}
	return &Source{fetch: func(context.Context) (string, error) { return FromFile(name) }}, nil
}

// Command is a source that runs a command, each time anew, for 30 s at most. Its stdin and
// stderr are those given: it may be asking for a password.
func Command(argv []string, stdin io.Reader, stderr io.Writer) *Source {
	return &Source{fetch: func(ctx context.Context) (string, error) { return fromCommand(ctx, argv, stdin, stderr) }}
}

// First fetches the first token ahead of time, to find out whether there is
// one at all.
func (t *Source) First(ctx context.Context) error {
	token, err := t.Token(ctx, false)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ready = token
	return err
}

// Token is what package topic asks for: again is set when the gateway refused
// the last one. A source that then has nothing new says so with topic.ErrNoOther: the
// same token would be refused again.
func (t *Source) Token(ctx context.Context, again bool) (string, error) {
	if token := t.takeReady(); token != "" && !again {
		return token, nil
	}
	token, err := t.fetch(ctx)
	if err != nil {
		return "", err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if again && t.given[token] {
		return "", topic.ErrNoOther
	}
	if t.given == nil {
		t.given = map[string]bool{}
	}
	t.given[token] = true
	return token, nil
}

func (t *Source) takeReady() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	token := t.ready
	t.ready = ""
	return token
}

// Hide blanks out every token that was given out.
func (t *Source) Hide(text []byte) []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	for token := range t.given {
		if token != "" {
			text = bytes.ReplaceAll(text, []byte(token), []byte("[token]"))
		}
	}
	return text
}

const (
	fileHint     = "name a file that holds the token, and that only you can read"
	oneTokenHint = "a token is one line of plain ASCII, and nothing else may be in the file"
)

// FromFile reads the token in a file. It refuses a file that others can read: what they can read they
// can use in our name.
func FromFile(file string) (string, error) {
	text, err := private.Read(file, maxTokenText+1, private.Care{Check: private.Closed})
	switch {
	case errors.Is(err, private.ErrForeign):
		return "", fault.New(fault.Misused, "give it to yourself: chown \"$USER\" "+file, "--token-file: %w", err)
	case errors.Is(err, private.ErrOpen):
		return "", fault.New(fault.Misused, "chmod 600 "+file, "--token-file: %w", err)
	case err != nil:
		return "", fault.New(fault.Misused, fileHint, "--token-file: %w", err)
	}
	return tidy("--token-file", text, false)
}

// fromCommand runs a command without a shell.
func fromCommand(ctx context.Context, argv []string, stdin io.Reader, stderr io.Writer) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stdin, cmd.Stderr = stdin, stderr
	cmd.WaitDelay = time.Second
	var out output
	cmd.Stdout = &out
	together(cmd)
	err := stdio.Beside(cmd)
	switch {
	case len(out) > maxTokenText, err == nil, errors.Is(err, exec.ErrWaitDelay): // the last: it ended well, and whom it left running has its stdout
		return tidy("--token-command", out, false)
	case ctx.Err() == context.DeadlineExceeded:
		return "", fault.New(fault.Misused, "run it by hand to see what it waits for", "--token-command: %s gave no token within 30 s", argv[0])
	}
	return "", fault.New(fault.Misused, "run it by hand to see what is wrong", "--token-command: %s: %w", argv[0], err)
}

// A output is what a command prints, and ends the command when that is no token any
// more.
type output []byte

func (t *output) Write(p []byte) (int, error) {
	n := min(len(p), maxTokenText+1-len(*t))
	*t = append(*t, p[:n]...)
	if n < len(p) {
		return n, io.ErrShortWrite
	}
	return n, nil
}

// tidy takes white space from around a token and refuses it inside,
// without showing any of it.
func tidy(source string, text []byte, mayBeEmpty bool) (string, error) {
	token := strings.TrimSpace(string(text))
	switch {
	case len(text) > maxTokenText: // a file is read no further
		return "", fault.New(fault.Misused, oneTokenHint, "%s: over %d bytes, that is no token", source, maxTokenText)
	case len(token) > maxToken:
		return "", fault.New(fault.Misused, oneTokenHint, "%s: over %d bytes, that is no token", source, maxToken)
	case token == "" && !mayBeEmpty:
		return "", fault.New(fault.Misused, oneTokenHint, "%s: it is empty", source)
	case strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }):
		return "", fault.New(fault.Misused, oneTokenHint, "%s: there is more in it than a token", source)
	}
	return token, nil
}

// Peek is the token that was fetched ahead of time; "" if there is none.
func (t *Source) Peek() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ready
}
