package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/google/shlex"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/private"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/topic"
	"github.com/mcpx-protocol/mcpx-bridge/stdio"
)

const (
	maxToken     = 16 << 10     // bytes of a token
	maxTokenText = 4 * maxToken // and with the white space around it
)

// A tokenSource yields the token for a gateway that is not ours, and remembers
// what it gave out, so that no trace of the traffic shows it.
type tokenSource struct {
	fetch func(ctx context.Context) (string, error)

	mu    sync.Mutex
	given map[string]bool
	ready string // fetched by First and not asked for yet
}

// First fetches the first token ahead of time, to find out whether there is
// one at all.
func (t *tokenSource) First(ctx context.Context) error {
	token, err := t.Token(ctx, false)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ready = token
	return err
}

// Token is what package topic asks for: again is set when the gateway refused
// the last one. A source that then has nothing new ends it: the same token
// would be refused again.
func (t *tokenSource) Token(ctx context.Context, again bool) (string, error) {
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
		return "", &topic.FatalError{Exit: exitGateway, Err: errors.New("the gateway does not take our token"),
			Hint: "get a new one for this topic and this participant id; one that has run out is replaced without a stop where --token-file has the next, or --token-command prints it"}
	}
	if t.given == nil {
		t.given = map[string]bool{}
	}
	t.given[token] = true
	return token, nil
}

func (t *tokenSource) takeReady() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	token := t.ready
	t.ready = ""
	return token
}

// hide blanks out every token that was given out.
func (t *tokenSource) hide(text []byte) []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	for token := range t.given {
		if token != "" {
			text = bytes.ReplaceAll(text, []byte(token), []byte("[token]"))
		}
	}
	return text
}

// tokenSource chooses where the token comes from: file, command, environment,
// in this order. Without any it is empty, which some gateways accept.
func (p *program) tokenSource() (*tokenSource, error) {
	switch {
	case p.s.TokenFile != "" && p.s.TokenCommand != "":
		return nil, misused("keep one of them", "--token-file and --token-command exclude each other")
	case p.s.TokenFile != "":
		if _, err := tokenFromFile(p.s.TokenFile); err != nil {
			return nil, err // now, not after the server has started
		}
		return &tokenSource{fetch: func(context.Context) (string, error) { return tokenFromFile(p.s.TokenFile) }}, nil
	case p.s.TokenCommand != "":
		argv, err := shlex.Split(p.s.TokenCommand)
		if err != nil || len(argv) == 0 {
			return nil, misused("quote it as in a shell", "--token-command: it is no command line")
		}
		return &tokenSource{fetch: func(ctx context.Context) (string, error) { return p.tokenFromCommand(ctx, argv) }}, nil
	}
	token, err := tidyToken("MCPX_AUTH_TOKEN", []byte(p.getenv("MCPX_AUTH_TOKEN")), true)
	if err != nil {
		return nil, err
	}
	return &tokenSource{fetch: func(context.Context) (string, error) { return token, nil }}, nil
}

const (
	tokenFileHint = "name a file that holds the token, and that only you can read"
	oneTokenHint  = "a token is one line of plain ASCII, and nothing stands beside it"
)

// tokenFromFile refuses a file that others can read: what they can read they
// can use in our name.
func tokenFromFile(file string) (string, error) {
	text, err := private.Read(file, maxTokenText+1, private.Care{Check: private.Closed})
	switch {
	case errors.Is(err, private.ErrForeign):
		return "", misused("give it to yourself: chown \"$USER\" "+file, "--token-file: %w", err)
	case errors.Is(err, private.ErrOpen):
		return "", misused("chmod 600 "+file, "--token-file: %w", err)
	case err != nil:
		return "", misused(tokenFileHint, "--token-file: %w", err)
	}
	return tidyToken("--token-file", text, false)
}

// tokenFromCommand runs a command without a shell. What it says on stderr goes
// to ours: it may be asking for a password.
func (p *program) tokenFromCommand(ctx context.Context, argv []string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stdin, cmd.Stderr = p.stdin, p.stderr
	cmd.WaitDelay = time.Second
	var out tokenText
	cmd.Stdout = &out
	err := stdio.Beside(cmd)
	if len(out) > maxTokenText {
		return tidyToken("--token-command", out, false)
	}
	if ctx.Err() == context.DeadlineExceeded {
		return "", misused("run it by hand to see what it waits for", "--token-command: %s gave no token within 30 s", argv[0])
	}
	if err != nil {
		return "", misused("run it by hand to see what is wrong", "--token-command: %s: %w", argv[0], err)
	}
	return tidyToken("--token-command", out, false)
}

// A tokenText is what a command prints, and ends the command when that is no token any
// more.
type tokenText []byte

func (t *tokenText) Write(p []byte) (int, error) {
	n := min(len(p), maxTokenText+1-len(*t))
	*t = append(*t, p[:n]...)
	if n < len(p) {
		return n, io.ErrShortWrite
	}
	return n, nil
}

// tidyToken takes white space from around a token and refuses it inside,
// without showing any of it.
func tidyToken(source string, text []byte, mayBeEmpty bool) (string, error) {
	token := strings.TrimSpace(string(text))
	switch {
	case len(text) > maxTokenText: // a file is read no further
		return "", misused(oneTokenHint, "%s: over %d bytes, that is no token", source, maxTokenText)
	case len(token) > maxToken:
		return "", misused(oneTokenHint, "%s: over %d bytes, that is no token", source, maxToken)
	case token == "" && !mayBeEmpty:
		return "", misused(oneTokenHint, "%s: it is empty", source)
	case strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }):
		return "", misused(oneTokenHint, "%s: there is more in it than a token", source)
	}
	return token, nil
}
