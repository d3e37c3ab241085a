package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
)

// A hostClient is an MCP client that starts the bridge as its stdio server and has its calls
// judged: all the calls of its site are its own, and its person is asked in its own dialogs.
type hostClient struct {
	*site
	program string
	args    []string
	env     []string
	in      io.WriteCloser
	heard   *diary            // on stdout, of one program after the other
	asked   int               // by the program that runs now
	greeted int               // programs
	dialogs map[string]string // by the question: the id, quoted
}

// askedMost is after how many questions the client ends and comes back: one caller puts no more
// than ten in a minute, and is put no more after three noes in a row.
const askedMost = 6

// withClient is a bridge that a client has started.
func withClient(s *site, l launch) *sidecar {
	b := &sidecar{t: s.root, events: newDiary(), stderr: newDiary(), exit: make(chan int, 1), record: filepath.Join(s.home, "given")}
	l.flags = append(l.flags, "--stdio", "--gate-host")
	c := &hostClient{site: s, args: l.args(s.root, s.url, b.record), env: append(os.Environ(), "GORACE=atexit_sleep_ms=0"), heard: newDiary(), dialogs: map[string]string{}}
	for name, value := range l.env {
		c.env = append(c.env, name+"="+value)
	}
	var err error
	if c.program, err = exec.LookPath("mcpx-bridge"); err != nil {
		s.Fatal(err)
	}
	s.client, s.bridge = c, b
	c.starts()
	s.root.Cleanup(func() { b.finish() })
	return b
}

// starts has a new program, which is the same bridge.
func (c *hostClient) starts() {
	c.Helper()
	cmd, b := exec.Command(c.program, c.args...), c.bridge
	cmd.Env, cmd.Stdout, cmd.Stderr = c.env, c.heard, b.events
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		c.Fatal(err)
	}
	c.in, c.asked = in, 0
	b.ended, b.stop = false, func() { in.Close() }
	go func() {
		cmd.Wait()
		b.exit <- cmd.ProcessState.ExitCode()
	}()
}

// greets shakes hands with the server, for a person who can be asked.
func (c *hostClient) greets() {
	c.Helper()
	c.greeted++
	c.says(fmt.Sprintf(`{"jsonrpc":"2.0","id":"hello-%d","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"elicitation":{}},"clientInfo":{"name":"t","version":"1"}}}`, c.greeted))
	c.hears(fmt.Sprintf(`{"id":"hello-%d","result":"*"}`, c.greeted))
	c.says(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

// comesBack ends the program, and starts it again, when it has been asked about enough.
func (c *hostClient) comesBack() {
	c.Helper()
	if c.asked++; c.asked <= askedMost {
		return
	}
	if code := c.bridge.finish(); code != 0 {
		c.Errorf("it exits with %d\n%s", code, c.bridge.about())
	}
	c.starts()
	c.asked, c.ready = 1, c.bridge.ready()
	c.greets()
}

func (c *hostClient) says(line string) {
	c.Helper()
	if _, err := io.WriteString(c.in, line+"\n"); err != nil {
		c.Fatal(err)
	}
}

// hears waits for what the client hears, or has heard.
func (c *hostClient) hears(pattern string) string {
	c.Helper()
	return c.hearsOf("", pattern)
}

// hearsOf is hears, of a line that holds a text.
func (c *hostClient) hearsOf(part, pattern string) string {
	c.Helper()
	c.heard.back(0)
	for {
		m, ok := c.heard.next(pattern, patience)
		if !ok {
			c.Fatalf("the client does not hear %s %s, but\n%s\n%s", pattern, part, tail(c.heard.text()), c.bridge.about())
		}
		if line := mustJSON(c.T, m); strings.Contains(line, part) {
			return line
		}
	}
}

// closed waits until the dialog about a question has been taken away, if there was one.
func (c *hostClient) closed(a asked) {
	c.Helper()
	if id := c.dialogs[a.id]; id != "" {
		c.hears(fmt.Sprintf(`{"method":"notifications/cancelled","params":{"requestId":%s}}`, id))
	}
}

// host is the person behind that client.
func (s *site) host() hand {
	c := s.client
	c.greets()
	dialogs := c.dialogs
	reply := func(dialog, result string) string {
		c.says(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, dialog, result))
		return ""
	}
	const allow, deny = `{"action":"accept","content":{"decision":"allow"}}`, `{"action":"decline","content":{"decision":"allow"}}`
	sees := func(a asked) string {
		line := c.hearsOf(a.short, `{"method":"elicitation/create"}`)
		dialogs[a.id] = `"` + found(s.T, line, `"id":"([^"]+)"`) + `"`
		return forEyes(s.T, `{"payload":`+line+`}`)
	}
	return hand{
		sees: sees,
		says: func(a asked, yes bool) string {
			return reply(dialogs[a.id], map[bool]string{true: allow, false: deny}[yes])
		},
		garbles: func(a asked) string {
			return reply(dialogs[a.id], `{"action":"accept","content":{"decision":"deny","decision":"allow"}}`)
		},
		strays: func(a asked) string { // in the form of ours, and by what else there is
			for _, id := range []string{otherDialog(dialogs[a.id], strings.Repeat("0", 8)), otherDialog(dialogs[a.id], a.env), fmt.Sprintf("%q", a.id), fmt.Sprintf("%q", a.call), "1"} {
				reply(id, allow)
			}
			return ""
		},
		intrudes: func(a asked) string {
			known := s.asks("known", "write_file", `{"path":"/known"}`)
			sees(known)
			s.takesBack(known)
			for _, id := range []string{a.id, a.env, a.short, a.call} {
				reply(otherDialog(dialogs[known.id], id), allow)
				reply(fmt.Sprintf("%q", id), allow)
			}
			dialogsBefore := c.heard.count(`{"method":"elicitation/create"}`)
			s.seat("ai1").send(d1.request("ai1-2", "ai1", "fs", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"write_file","arguments":{"path":"/ai1"}}}`))
			s.hears("ai1", `{"correlation_id":"ai1-2","payload":{"error":{"data":{"reason":"no_approver"}}}}`)
			s.never("/ai1")
			if n := c.heard.count(`{"method":"elicitation/create"}`); n != dialogsBefore {
				s.Errorf("a participant's call is put to the client")
			}
			return ""
		},
		unshown: func(a asked) string { // from the topic, and at this machine
			s.answers("alice", a.env, dialogs[a.id], anYes)
			alice := s.seat("alice")
			alice.send(d1.request("ai22-probe", "alice", "fs", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"/probe"}}}`))
			s.hears("alice", `{"correlation_id":"ai22-probe","payload":{"result":"*"}}`)
			here := s.bridge.visit(s.ready)
			if o, err := here.Decide(s.Context(), inbox.Decision{ID: a.id, Digest: a.short, Result: []byte(anYes)}); err == nil {
				s.Errorf("somebody else at this machine is told %v", o)
			}
			return ""
		},
		idles: func(a asked) {
			id := dialogs[a.id]
			yes := `"result":` + allow
			for _, line := range []string{
				`{"jsonrpc":"2.0","id":"idle-0","method":"tools/call","params":{"name":"read_file","arguments":{"decision":"allow","id":` + id + `,` + yes + `}}}`,
				`{"jsonrpc":"2.0","id":"idle-1","method":"tools/call","params":{"name":"mcpx_approve","arguments":{"id":` + id + `,"approve":true}}}`,
				`{"jsonrpc":"2.0","id":"idle-2","method":"approvals/allow","params":{"id":` + id + `,"decision":"allow"}}`,
				`{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":` + id + `,` + yes + `}}`,
				`[{"jsonrpc":"2.0","id":` + id + `,` + yes + `}]`,
				`{"jsonrpc":"2.0","id":[` + id + `],` + yes + `}`,
				`{"jsonrpc":"2.0","id":` + id + `,"Result":` + allow + `}`,
			} {
				c.says(line)
			}
		},
		changes: func(a asked, target string) string {
			return reply(dialogs[a.id], fmt.Sprintf(`{"action":"accept","content":{"decision":"allow","target":%q}}`, target))
		},
		passesOn: func(a asked, to string) string {
			return reply(dialogs[a.id], fmt.Sprintf(`{"action":"accept","content":{"decision":"delegate","delegateTo":%q}}`, to))
		},
	}
}

// otherDialog is the id of a dialog, quoted, with another end.
func otherDialog(id, end string) string {
	parts := strings.SplitN(id, "-", 3)
	return parts[0] + "-" + parts[1] + "-" + end + `"`
}
