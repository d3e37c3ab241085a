package main

import (
	"encoding/json"
	"fmt"
	"strings"
)

const showsApps = `{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html;profile=mcp-app"]}}}`

// A cardInClient is the page of ours that a client shows: what it has, and what it calls.
type cardInClient struct {
	*site
	client      *desktopClient
	lines       *diary
	turn        int
	key, ticket string
}

// A cardQuestion is a question as the page gets it.
type cardQuestion struct {
	Digest, Nonce, Text string
	Schema              json.RawMessage
}

// request makes a request of the client's, and returns what comes back.
func (c *cardInClient) request(method, params string) string {
	c.Helper()
	c.turn++
	c.client.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"turn-%d","method":%q,"params":%s}`, c.turn, method, params))
	end, ok := c.lines.next(fmt.Sprintf(`{"id":"turn-%d"}`, c.turn), patience)
	if !ok {
		c.Fatalf("no answer to %s: %s", method, c.lines.text())
	}
	return mustJSON(c.T, end)
}

func (c *cardInClient) tool(name, format string, a ...any) string {
	c.Helper()
	return c.request("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, name, fmt.Sprintf(format, a...)))
}

// questions are those that the page gets with that key and ticket.
func (c *cardInClient) questions(key, ticket string) []cardQuestion {
	c.Helper()
	var m struct {
		Result struct {
			StructuredContent struct{ Questions []cardQuestion }
		}
	}
	if err := json.Unmarshal([]byte(c.tool("mcpx_card", `{"key":%q,"ticket":%q}`, key, ticket)), &m); err != nil {
		c.Fatal(err)
	}
	return m.Result.StructuredContent.Questions
}

// card is our page in a client of serve that shows such pages.
func (s *site) card() hand {
	c := &cardInClient{site: s, client: greet(s.T, s.url, s.token("alice"), showsApps, "--json"), lines: newDiary()}
	go func() {
		for c.client.out.Scan() {
			fmt.Fprintf(c.lines, "%s\n", c.client.out.Text())
		}
	}()
	page := c.request("resources/read", `{"uri":"ui://mcpx/approvals"}`)
	c.key = found(s.T, page, `name=\\"mcpx-key\\" content=\\"([^\\]+)\\"`)
	c.ticket = found(s.T, c.tool("mcpx_approvals", `{}`), `"mcpx/card":"([^"]+)"`)
	shown := map[string]cardQuestion{}
	answer := func(digest, nonce, content string) string {
		return c.tool("mcpx_answer", `{"digest":%q,"nonce":%q,"answer":{"action":"accept","content":%s}}`, digest, nonce, content)
	}
	const allow, deny = `{"decision":"allow"}`, `{"decision":"deny"}`
	return hand{
		sees: func(a asked) string {
			c.client.said.next(fmt.Sprintf(`{"event":"asked","from":%q}`, a.from), patience)
			for _, q := range c.questions(c.key, c.ticket) {
				if strings.Contains(q.Text, a.short) {
					shown[a.id] = q
					return q.Text + string(q.Schema)
				}
			}
			s.Fatalf("%v is not on the card\n%s", a, c.lines.text())
			return ""
		},
		says: func(a asked, yes bool) string {
			return answer(shown[a.id].Digest, shown[a.id].Nonce, map[bool]string{true: allow, false: deny}[yes])
		},
		wrongly: func(a asked) string { return answer(strings.Repeat("0", 8), shown[a.id].Nonce, allow) },
		garbles: func(a asked) string { return answer(shown[a.id].Digest, shown[a.id].Nonce, `{"decision":"true"}`) },
		strays:  func(a asked) string { return answer(shown[a.id].Digest, strings.Repeat("0", 32), allow) },
		intrudes: func(a asked) string {
			if n := len(c.questions(c.key, c.ticket)); n > 0 {
				s.Errorf("%d questions are on the card", n)
			}
			return answer(a.short, "", allow)
		},
		unshown: func(a asked) string { // what a model can know, and what another page can
			if n := len(c.questions(c.key, c.key)) + len(c.questions("", c.ticket)); n > 0 {
				s.Errorf("%d questions are shown to somebody else", n)
			}
			return answer(shown[a.id].Digest, "", allow) + answer(shown[a.id].Digest, c.ticket, allow)
		},
		idles: func(a asked) {
			c.tool("mcpx_approvals", `{"digest":%q,"decision":"allow"}`, a.short)
			c.tool("mcpx_approve", `{"id":%q,"approve":true}`, a.id)
			c.tool("fs__approve", `{"id":%q,"approve":true}`, a.id)
			c.request("resources/read", `{"uri":"ui://mcpx/approvals?decision=allow"}`)
		},
		changes: func(a asked, target string) string {
			return answer(shown[a.id].Digest, shown[a.id].Nonce, fmt.Sprintf(`{"decision":"allow","target":%q}`, target))
		},
		passesOn: func(a asked, to string) string {
			return answer(shown[a.id].Digest, shown[a.id].Nonce, fmt.Sprintf(`{"decision":"delegate","delegateTo":%q}`, to))
		},
		calls: func(args string) string { return c.tool("fs__write_file", "%s", args) },
	}
}
