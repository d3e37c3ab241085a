package main

import (
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	realgateway "github.com/mcpx-protocol/mcpx-bridge/bridge/gateway"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/prompt"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/prompt/prompttest"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/stdiotest"
)

// A surface is where somebody is asked and answers.
type surface struct {
	name  string
	rooms []string // the packages that put the question there, and hand in the answer
	door  string   // of [approval.Door], by which the desk hears of the answer
	who   string   // who answers there, as policies name them
	away  bool     // it is not at this machine: what the policy hides is hidden
	loose bool     // what is no answer there is passed over, and no no
	open  func(*site) hand
	start func(*site, launch) *sidecar // nil: it joins the gateway of the site
}

// askedAt are all there are; TestEverySurfaceIsInTheTable sees to that.
var askedAt = []surface{
	{name: "terminal", door: "Local", rooms: []string{"bridge/prompt"}, who: "local", loose: true, open: (*site).terminal},
	{name: "socket", door: "Local", rooms: []string{"bridge/inbox/socket", "cmd/mcpx-bridge"}, who: "local", open: (*site).socket},
	{name: "page", door: "Local", rooms: []string{"bridge/inbox/web"}, who: "local", loose: true, open: (*site).page},
	{name: "topic", door: "Topic", who: "alice", away: true, open: (*site).topic},
	{name: "telegram", door: "Topic", rooms: []string{"bridge/notify"}, who: "alice", away: true, loose: true, open: inChat(telegramChat), start: withChat(telegramChat)},
	{name: "slack", door: "Topic", rooms: []string{"bridge/notify"}, who: "alice", away: true, loose: true, open: inChat(slackChat), start: withChat(slackChat)},
	{name: "serve", door: "Topic", rooms: []string{"bridge/serve"}, who: "alice", away: true, open: (*site).dialog},
	{name: "card", door: "Topic", rooms: []string{"bridge/serve"}, who: "alice", away: true, open: (*site).card},
	{name: "host", door: "Host", rooms: []string{"bridge/engine"}, who: "host", open: (*site).host, start: withClient},
}

// A hand is somebody at a surface. A nil function is what cannot be done there; the others
// return what they are told of it.
type hand struct {
	sees     func(asked) string                  // waits for the question, and returns all that is shown of it
	says     func(a asked, yes bool) string      // to what was shown
	wrongly  func(asked) string                  // yes, with a digest that was not shown
	garbles  func(asked) string                  // what is neither yes nor no
	strays   func(asked) string                  // yes, to a question that there is not
	intrudes func(asked) string                  // yes, to what somebody else is asked
	unshown  func(asked) string                  // yes, from where the question was not shown
	idles    func(asked)                         // all that is no answer
	changes  func(a asked, target string) string // yes, with another target
	passesOn func(a asked, to string) string
	calls    func(args string) string // makes a call of their own
}

// An asked is a question, as the record has it. call is what its caller calls it by.
type asked struct{ from, call, env, id, short string }

// A site is a bridge with a server behind it and a gateway before it, for one surface.
type site struct {
	*testing.T // of the rule in hand
	root       *testing.T
	surface
	url    string
	token  func(id string) string
	bridge *sidecar
	ready  map[string]any
	home   string
	rules  string // its policy file
	tools  string // the file of its server's tools
	seats  map[string]*seat
	chat   *chatroom   // of those surfaces alone
	client *hostClient // makes all the calls, at that surface alone
}

// A seat is a participant, and all that they heard.
type seat struct {
	*guest
	heard *diary
}

// siteSecret is what the tokens of a site's gateway are signed with.
var siteSecret = []byte(strings.Repeat("s", 32))

// siteRules are a policy in which WHO is asked.
const siteRules = `version: 1
default: deny
redact: ["*secret*"]
proposals: {fulfil: ask}
asks:
  who:   {of: [WHO], within: 60s}
  quick: {of: [WHO], within: 2s}
  edit:  {of: [WHO], within: 60s, edit: {target: {arg: /target, title: Target, enum: [staging, production]}}}
  pass:  {of: [WHO], within: 60s, delegate: {to: [carol]}}
  carol: {of: [carol], within: 60s}
rules:
  - {name: reads, allow: [read_file, notify]}
  - {name: writes, ask: [write_file, echo, grow], as: who}
  - {name: quickly, ask: [slow], as: quick}
  - {name: deploys, ask: [deploy], as: edit}
  - {name: passed, ask: [progress], as: pass}
  - {name: others, ask: [big], as: carol}
`

func newSite(t *testing.T, of surface) *site {
	g, err := realgateway.New(realgateway.Options{Secret: siteSecret})
	if err != nil {
		t.Fatal(err)
	}
	door := httptest.NewServer(g)
	t.Cleanup(func() {
		g.Close()
		door.Close()
	})
	s := &site{T: t, root: t, surface: of, url: "ws" + strings.TrimPrefix(door.URL, "http"), home: t.TempDir(), seats: map[string]*seat{}}
	s.token = func(id string) string {
		token, err := g.Mint(realgateway.Claims{ID: id, Topic: "t1"})
		if err != nil {
			t.Error(err)
		}
		return token
	}
	s.rules, s.tools = filepath.Join(s.home, "policy.yaml"), filepath.Join(s.home, "tools")
	s.keep(s.rules, strings.ReplaceAll(siteRules, "WHO", of.who))
	s.offers("Do it")
	l := launch{env: map[string]string{"MCPX_AUTH_TOKEN": s.token("fs"), "XDG_STATE_HOME": s.home}, rules: []string{"--policy", s.rules},
		flags: []string{"--inbox", "127.0.0.1:0", "--audit-sync", "always"}, script: stdiotest.Script{ToolsFile: s.tools}}
	if of.start != nil {
		s.bridge = of.start(s, l)
	} else {
		s.bridge = l.start(t, s.url)
	}
	s.ready = s.bridge.ready()
	s.seat("carol")
	return s
}

// offers has the server list its tools, of which it describes one like that.
func (s *site) offers(description string) {
	s.Helper()
	var lines []string
	for _, tool := range []string{"read_file", "write_file", "echo", "notify", "slow", "deploy", "progress", "big"} {
		lines = append(lines, fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object"}}`, tool))
	}
	lines = append(lines, fmt.Sprintf(`{"name":"grow","description":%q,"inputSchema":{"type":"object"}}`, description))
	s.keep(s.tools, strings.Join(lines, "\n"))
}

func (s *site) keep(file, text string) {
	s.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		s.Fatal(err)
	}
}

// seat is a participant, who joins when they are first named.
func (s *site) seat(id string) *seat {
	s.Helper()
	if s.seats[id] == nil {
		s.seats[id] = s.join(id)
	}
	return s.seats[id]
}

func (s *site) join(id string) *seat {
	heard := newDiary()
	g := sit(s.root, s.url, d1, id, s.token(id), func(_ *guest, frame []byte) { fmt.Fprintf(heard, "%s\n", frame) })
	return &seat{g, heard}
}

// hears waits for what a participant hears.
func (s *site) hears(id, pattern string) string {
	s.Helper()
	m, ok := s.seat(id).heard.next(pattern, patience)
	if !ok {
		s.Fatalf("%s does not hear %s, but\n%s\n%s", id, pattern, tail(s.seat(id).heard.text()), s.bridge.about())
	}
	return mustJSON(s.T, m)
}

// sends is a call of somebody's.
func (s *site) sends(from, call, tool, args string) {
	s.Helper()
	line := fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"method":"tools/call","params":{"name":%q,"arguments":%s,"_meta":{"progressToken":"t"}}}`, call, tool, args)
	if s.client != nil {
		s.client.says(line)
		return
	}
	s.seat(from).send(d1.request(call, from, "fs", line))
}

// asks makes a call about which somebody is asked.
func (s *site) asks(from, tool, args string) asked {
	s.Helper()
	call := from + "-1"
	if s.client != nil {
		s.client.comesBack()
	}
	s.sends(from, call, tool, args)
	return s.question(from, call)
}

func (s *site) question(from, call string) asked {
	s.Helper()
	which := fmt.Sprintf(`{"event":"asked","env":%q}`, call)
	if s.client != nil {
		which = `{"event":"asked","from":"host"}`
	}
	e := s.bridge.await(which)
	return asked{e["from"].(string), call, e["env"].(string), e["question"].(string), e["digest"].(string)}
}

// served and refused are how a call ends for its caller.
func (s *site) served(a asked) {
	s.Helper()
	if s.client != nil {
		s.client.hears(fmt.Sprintf(`{"id":%q,"result":{"!isError":true}}`, a.call))
		return
	}
	s.hears(a.from, fmt.Sprintf(`{"correlation_id":%q,"payload":{"result":"*"}}`, a.call))
}

func (s *site) refused(a asked, code int) {
	s.Helper()
	if s.client != nil {
		s.client.hears(fmt.Sprintf(`{"id":%q,"result":{"isError":true,"_meta":{"mcpx/refusal":{"code":%d}}}}`, a.call, code))
		return
	}
	s.hears(a.from, fmt.Sprintf(`{"correlation_id":%q,"payload":{"error":{"code":%d}}}`, a.call, code))
}

// progress is what the caller is told while it waits.
func (s *site) progress(a asked) string {
	s.Helper()
	if s.client != nil {
		return s.client.hearsOf(a.short, `{"method":"notifications/progress"}`)
	}
	return s.hears(a.from, `{"payload":{"method":"notifications/progress"}}`)
}

// ran is how many calls the server was given that hold a text.
func (s *site) ran(part string) (n int) {
	for _, line := range s.bridge.given("tools/call") {
		if strings.Contains(line, part) {
			n++
		}
	}
	return n
}

// probe is a call that is served; what was said before, and by the server, has been taken then.
func (s *site) probe() {
	s.Helper()
	call := asked{from: "prober", call: s.seat("prober").fresh()}
	s.sends(call.from, call.call, "read_file", `{"path":"/probe"}`)
	s.served(call)
}

// never shows that nothing runs with a text in it: what is called now is served before, and waits
// for the disk as what people agree to does.
func (s *site) never(part string) {
	s.Helper()
	s.probe()
	if n := s.ran(part); n != 0 {
		s.Errorf("%s ran %d times\n%s", part, n, s.bridge.about())
	}
}

// takesBack ends a question.
func (s *site) takesBack(a asked) {
	s.Helper()
	line := fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%q}}`, a.call)
	if s.client != nil {
		s.client.says(line)
		s.client.closed(a)
	} else {
		s.seat(a.from).send(d1.frame(s.seat(a.from).fresh(), a.from, "fs", d1.kind("request", "notifications/cancelled", ""), "", line))
	}
	s.bridge.await(fmt.Sprintf(`{"event":"withdrawn","env":%q}`, a.env))
}

// What there is before a person.

const anYes, aNo, noWord = `{"action":"accept","content":{"approve":true,"action":"approve"}}`, `{"action":"decline"}`, `{"action":"accept","content":{"approve":"true"}}`

func word(yes bool) string {
	if yes {
		return anYes
	}
	return aNo
}

func (s *site) socket() hand {
	c := s.bridge.visit(s.ready)
	digests := map[string]string{}
	decide := func(id, digest, result string) string {
		o, err := c.Decide(s.Context(), inbox.Decision{ID: id, Digest: digest, Result: []byte(result)})
		if err != nil {
			return err.Error()
		}
		return o.Outcome
	}
	return hand{
		sees: func(a asked) string {
			v, err := c.Show(s.Context(), a.id)
			if err != nil {
				s.Fatal(err)
			}
			digests[a.id] = v.Digest
			return prompt.Text(&v)
		},
		says:     func(a asked, yes bool) string { return decide(a.id, digests[a.id], word(yes)) },
		wrongly:  func(a asked) string { return decide(a.id, strings.Repeat("0", 64), anYes) },
		garbles:  func(a asked) string { return decide(a.id, digests[a.id], noWord) },
		strays:   func(a asked) string { return decide(strings.Repeat("0", 32), digests[a.id], anYes) },
		intrudes: func(a asked) string { return decide(a.id, a.short, anYes) },
		idles: func(a asked) {
			dial := func(context.Context, string, string) (net.Conn, error) {
				return net.Dial("unix", s.ready["control"].(string))
			}
			plain := &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}
			for _, path := range []string{"", "?digest=" + a.short + "&action=accept&approve=true", "/answer?digest=" + a.short + "&action=accept&approve=true"} {
				sent(s.T, plain, http.MethodGet, "http://bridge/questions/"+a.id+path, nil)
			}
		},
		changes: func(a asked, target string) string {
			return decide(a.id, digests[a.id], fmt.Sprintf(`{"action":"accept","content":{"approve":true,"target":%q}}`, target))
		},
		passesOn: func(a asked, to string) string {
			return decide(a.id, digests[a.id], fmt.Sprintf(`{"action":"accept","content":{"action":"delegate","delegateTo":%q}}`, to))
		},
	}
}

func (s *site) page() hand {
	link := s.ready["inbox"].(string)
	base, _, _ := strings.Cut(link, "/in/")
	jar, _ := cookiejar.New(nil) // never fails
	c := &http.Client{Jar: jar, Transport: &http.Transport{DisableKeepAlives: true}}
	sent(s.T, c, http.MethodPost, link, nil)
	digests := map[string]string{}
	at := func(id string) string { return base + "/q/fs/" + id }
	post := func(a asked, digest string, form url.Values) string {
		form.Set("digest", digest)
		return sent(s.T, c, http.MethodPost, at(a.id), form)
	}
	return hand{
		sees: func(a asked) string {
			page := sent(s.T, c, http.MethodGet, at(a.id), nil)
			digests[a.id] = found(s.T, page, `name="digest" value="([0-9a-f]{64})"`)
			return page
		},
		says: func(a asked, yes bool) string {
			return post(a, digests[a.id], url.Values{"do": {map[bool]string{true: "allow", false: "deny"}[yes]}})
		},
		wrongly: func(a asked) string { return post(a, strings.Repeat("0", 64), url.Values{"do": {"allow"}}) },
		garbles: func(a asked) string { return post(a, digests[a.id], url.Values{"do": {"approve"}}) },
		strays: func(a asked) string {
			return sent(s.T, c, http.MethodPost, at(strings.Repeat("0", 32)), url.Values{"do": {"allow"}, "digest": {digests[a.id]}})
		},
		intrudes: func(a asked) string {
			page := sent(s.T, c, http.MethodGet, at(a.id), nil)
			_, digest, _ := strings.Cut(page, `name="digest" value="`)
			digest, _, _ = strings.Cut(digest, `"`)
			return post(a, digest, url.Values{"do": {"allow"}})
		},
		unshown: func(a asked) string { // a browser that has not logged in
			return sent(s.T, &http.Client{}, http.MethodPost, at(a.id), url.Values{"do": {"allow"}, "digest": {digests[a.id]}})
		},
		idles: func(a asked) {
			sent(s.T, c, http.MethodGet, at(a.id)+"?do=allow&digest="+digests[a.id], nil)
			sent(s.T, c, http.MethodPost, at(a.id)+"?do=allow&digest="+digests[a.id], nil)
		},
		changes: func(a asked, target string) string {
			return post(a, digests[a.id], url.Values{"do": {"allow"}, "field.target": {mustJSON(s.T, target)}})
		},
		passesOn: func(a asked, to string) string {
			return post(a, digests[a.id], url.Values{"do": {"delegate"}, "to": {to}})
		},
	}
}

func (s *site) terminal() hand {
	term := prompttest.Open(s.T, 160, 60)
	at(s.T, term, s.home, "approve")
	term.Sees("nothing to decide; watching fs in t1")
	return hand{
		sees: func(a asked) string {
			term.Sees(a.from+" requests permission", a.short, "a allow")
			return term.String()
		},
		says: func(a asked, yes bool) string {
			switch {
			case !strings.Contains(term.String(), a.from+" requests permission"):
				return "it is not before them"
			case yes:
				agree(term, func() bool { return !strings.Contains(term.String(), a.from+" requests permission") })
			default:
				refuse(term)
			}
			term.Misses(a.from + " requests permission")
			return term.String()
		},
		intrudes: func(a asked) string {
			term.Types("a" + a.short[:2]) // it is not before them
			return ""
		},
		garbles: func(a asked) string {
			term.Types("y\r ")
			return "nothing"
		},
		idles: func(a asked) { term.Types("a\x1b") },
	}
}

// refuse denies the question on the screen; like agree.
func refuse(term *prompttest.Terminal) {
	for !strings.Contains(term.String(), "deny, because") {
		term.Types("d")
		for range 12 {
			if strings.Contains(term.String(), "deny, because") {
				break
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
	term.Types("\r")
}

// putTo is the question as a participant hears it.
func (s *site) putTo(who string, a asked) posed {
	s.Helper()
	frame := s.hears(who, fmt.Sprintf(`{"to":[%q],"payload":{"method":"elicitation/create","params":{"metadata":{"originalRequest":{"envelopeId":%q}}}}}`, who, a.env))
	var m struct {
		ID      string
		Payload struct{ ID json.RawMessage }
	}
	if err := json.Unmarshal([]byte(frame), &m); err != nil {
		s.Fatal(err)
	}
	return posed{m.ID, string(m.Payload.ID), who, frame}
}

// answers is what a participant answers, and to what.
func (s *site) answers(who, link, rpc, body string) {
	s.Helper()
	seat := s.seat(who)
	seat.send(d1.frame(seat.fresh(), who, "fs", d1.kind("response", "elicitation/create", ""), link, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, rpc, body)))
}

func (s *site) topic() hand {
	s.seat("alice")
	put := map[string]posed{}
	answer := func(q posed, link, rpc, body string) string {
		s.answers("alice", link, rpc, body)
		return ""
	}
	return hand{
		sees: func(a asked) string {
			put[a.id] = s.putTo("alice", a)
			return forEyes(s.T, put[a.id].frame)
		},
		says:    func(a asked, yes bool) string { return answer(put[a.id], put[a.id].env, put[a.id].id, word(yes)) },
		garbles: func(a asked) string { return answer(put[a.id], put[a.id].env, put[a.id].id, noWord) },
		strays:  func(a asked) string { return answer(put[a.id], a.env, `"elicit-`+strings.Repeat("0", 32)+`"`, anYes) },
		intrudes: func(a asked) string {
			q := s.putTo("carol", a)
			return answer(q, q.env, q.id, anYes)
		},
		unshown: func(a asked) string { // she has come back, and answers what she was asked before
			old := put[a.id]
			s.seat("alice").ws.Close()
			s.seats["alice"] = s.join("alice")
			put[a.id] = s.putTo("alice", a)
			return answer(old, old.env, old.id, anYes)
		},
		idles: func(a asked) {
			q, alice := put[a.id], s.seat("alice")
			alice.send(d1.frame(alice.fresh(), "alice", "fs", "chat", "", `{"text":"approve `+q.env+`","format":"plain"}`))
			alice.send(d1.request(alice.fresh(), "alice", "fs", `{"jsonrpc":"2.0","id":1,"method":"approvals/allow","params":`+anYes+`}`))
		},
		changes: func(a asked, target string) string {
			return answer(put[a.id], put[a.id].env, put[a.id].id, fmt.Sprintf(`{"action":"accept","content":{"approve":true,"target":%q}}`, target))
		},
		passesOn: func(a asked, to string) string {
			return answer(put[a.id], put[a.id].env, put[a.id].id, fmt.Sprintf(`{"action":"accept","content":{"action":"delegate","delegateTo":%q}}`, to))
		},
		calls: func(args string) string {
			s.sends("alice", "own", "write_file", args)
			return s.hears("alice", `{"correlation_id":"own","payload":"*"}`)
		},
	}
}

// forEyes is what a client shows of a question to its person.
func forEyes(t *testing.T, frame string) string {
	t.Helper()
	var m struct {
		Payload struct {
			Params struct {
				Message         string
				RequestedSchema any
			}
		}
	}
	if err := json.Unmarshal([]byte(frame), &m); err != nil {
		t.Fatal(err)
	}
	return m.Payload.Params.Message + mustJSON(t, m.Payload.Params.RequestedSchema)
}

// dialog is the client of serve, which puts a question to its person as a dialog while a call is
// under way in which it can.
func (s *site) dialog() hand {
	c := openClient(s.T, s.url, s.token("alice"), "--json")
	lines := newDiary()
	go func() {
		for c.out.Scan() {
			fmt.Fprintf(lines, "%s\n", c.out.Text())
		}
	}()
	turn, dialogs := 0, map[string]string{}
	reply := func(id, content string) string {
		c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, content))
		end, _ := lines.next(fmt.Sprintf(`{"id":"turn-%d"}`, turn), patience)
		return mustJSON(s.T, end)
	}
	ask := func() {
		turn++
		c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"turn-%d","method":"tools/call","params":{"name":"mcpx_approvals"}}`, turn))
	}
	decided := map[bool]string{true: `{"action":"accept","content":{"decision":"allow"}}`, false: `{"action":"accept","content":{"decision":"deny"}}`}
	return hand{
		sees: func(a asked) string {
			c.said.next(fmt.Sprintf(`{"event":"asked","from":%q}`, a.from), patience)
			ask()
			q, ok := lines.next(`{"method":"elicitation/create"}`, patience)
			if !ok {
				s.Fatalf("no dialog for %v:\n%s", a, lines.text())
			}
			dialogs[a.id] = mustJSON(s.T, q["id"])
			return forEyes(s.T, mustJSON(s.T, map[string]any{"payload": q}))
		},
		says:    func(a asked, yes bool) string { return reply(dialogs[a.id], decided[yes]) },
		garbles: func(a asked) string { return reply(dialogs[a.id], `{"action":"accept","content":{"decision":"true"}}`) },
		strays: func(a asked) string {
			c.send(`{"jsonrpc":"2.0","id":"mcpx-question-99","result":` + decided[true] + `}`)
			return ""
		},
		intrudes: func(a asked) string { // there is no dialog that could be answered
			ask()
			end, _ := lines.next(fmt.Sprintf(`{"id":"turn-%d"}`, turn), patience)
			return mustJSON(s.T, end)
		},
		idles: func(a asked) {
			for i, tool := range []string{"mcpx_approve", "fs__approve"} {
				c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"idle-%d","method":"tools/call","params":{"name":%q,"arguments":{"id":%q,"approve":true}}}`, i, tool, a.id))
			}
		},
		changes: func(a asked, target string) string {
			return reply(dialogs[a.id], fmt.Sprintf(`{"action":"accept","content":{"decision":"allow","target":%q}}`, target))
		},
		passesOn: func(a asked, to string) string {
			return reply(dialogs[a.id], fmt.Sprintf(`{"action":"accept","content":{"decision":"delegate","delegateTo":%q}}`, to))
		},
		calls: func(args string) string {
			c.send(`{"jsonrpc":"2.0","id":"own","method":"tools/call","params":{"name":"fs__write_file","arguments":` + args + `}}`)
			end, _ := lines.next(`{"id":"own"}`, patience)
			return mustJSON(s.T, end)
		},
	}
}

// A rule is one of AI-1 to AI-24 as it is played at a surface. It returns false where the hand
// cannot do what it is about.
type rule struct {
	id, says string
	play     func(*site, hand) bool
	not      map[string]string // why it cannot be played there
}

const nobodyCalls = "the person at this machine calls nobody: whoever calls from here does so as a participant"

const ofOneDigest = "a dialog is of one digest: a change is a new dialog"

const noForm = "a button says yes or no, and nothing else"

var rules24 = []rule{
	{"AI-1", "who is not listed decides nothing", func(s *site, h hand) bool {
		a := s.asks("ai1", "big", `{"bytes":1}`)
		if told := h.intrudes(a); strings.Contains(told, "allowed") {
			s.Errorf("they are told %s", told)
		}
		s.never(`"big"`)
		s.takesBack(a)
		return true
	}, nil},
	{"AI-2", "nobody decides about a call of their own", func(s *site, h hand) bool {
		if h.calls == nil {
			return false
		}
		if told := h.calls(`{"path":"/ai2"}`); !strings.Contains(told, `"no_approver"`) {
			s.Errorf("they are told %s", told)
		}
		s.never("/ai2")
		return true
	}, map[string]string{"terminal": nobodyCalls, "socket": nobodyCalls, "page": nobodyCalls, "host": "the client calls, and its person decides: what anybody else calls is not put to them (AI-1 here)"}},
	{"AI-3", "an answer that names another question is none", func(s *site, h hand) bool {
		if h.strays == nil {
			return false
		}
		a := s.asks("ai3", "write_file", `{"path":"/ai3"}`)
		h.sees(a)
		h.strays(a)
		s.never("/ai3")
		s.takesBack(a)
		return true
	}, map[string]string{"terminal": "keys name no question: they mean the one that is shown"}},
	{"AI-4", "the id of a question cannot be known beforehand", func(s *site, h hand) bool {
		ids := map[string]bool{}
		for i := range 2 {
			a := s.asks(fmt.Sprint("ai4-", i), "write_file", `{"path":"/ai4"}`)
			h.sees(a)
			ids[a.id], ids[a.short] = true, true
			if len(a.id) != 32 {
				s.Errorf("the id is %s", a.id)
			}
			s.takesBack(a)
		}
		if len(ids) != 4 {
			s.Errorf("two questions about the same share something: %v", ids)
		}
		return true
	}, nil},
	{"AI-5", "a second yes runs nothing", func(s *site, h hand) bool {
		a := s.asks("ai5", "write_file", `{"path":"/ai5"}`)
		h.sees(a)
		h.says(a, true)
		s.served(a)
		if s.name != "serve" { // there the dialog has gone with its answer
			h.says(a, true)
		}
		s.never("/none")
		if n := s.ran("/ai5"); n != 1 {
			s.Errorf("it ran %d times", n)
		}
		return true
	}, nil},
	{"AI-6 AI-7", "what was shown is what runs, whatever comes under its id meanwhile", func(s *site, h hand) bool {
		a := s.asks("ai7", "write_file", `{"path":"/ai7","mode":9007199254740993}`)
		h.sees(a)
		s.sends(a.from, a.call, "write_file", `{"path":"/swapped"}`)
		if s.client != nil {
			s.client.hears(fmt.Sprintf(`{"id":%q,"error":{"code":-32600}}`, a.call))
		} else {
			s.bridge.dropped("duplicate_id_different_body")
		}
		h.says(a, true)
		s.served(a)
		if s.ran(`{"path":"/ai7","mode":9007199254740993}`) != 1 || s.ran("/swapped") != 0 {
			s.Errorf("the server was given %s", s.bridge.about())
		}
		return true
	}, nil},
	{"AI-8", "a change is of what is offered, and is on record under both digests", func(s *site, h hand) bool {
		if h.changes == nil {
			return false
		}
		a := s.asks("ai8", "deploy", `{"target":"production"}`)
		h.sees(a)
		h.changes(a, "staging")
		e := s.bridge.await(fmt.Sprintf(`{"event":"decided","env":%q,"verdict":"allow"}`, a.env))
		s.served(a)
		if s.ran(`"target":"staging"`) != 1 || s.ran(`"target":"production"`) != 0 || e["digest"] != a.short || e["ran"] == nil || e["ran"] == a.short {
			s.Errorf("as %v the server was given %s", e, s.bridge.about())
		}
		b := s.asks("ai8b", "deploy", `{"target":"production"}`)
		h.sees(b)
		h.changes(b, "the moon")
		s.never("moon")
		if s.name == "page" {
			s.takesBack(b)
		} else {
			s.refused(b, -31001)
		}
		return true
	}, map[string]string{"terminal": "its keys are played in TestEditChangesWhatRuns", "telegram": noForm, "slack": noForm}},
	{"AI-9", "a tool that has changed since it was shown does not run", func(s *site, h hand) bool {
		a := s.asks("ai9", "grow", `{"name":"ai9x"}`)
		h.sees(a)
		s.offers("Do something else")
		s.sends("prober", "changed", "notify", `{"kind":"list_changed"}`)
		s.served(asked{from: "prober", call: "changed"})
		s.probe() // which the server is given after the bridge has asked it for its tools
		if !s.seat("prober").heard.first(`{"payload":{"method":"notifications/tools/list_changed"}}`, patience) {
			s.Fatal("the topic does not hear that a tool has changed")
		}
		h.says(a, true)
		s.refused(a, -31011)
		s.never("ai9x")
		return true
	}, nil},
	{"AI-10 AI-12", "when its time is over nothing runs, and an answer is too late", func(s *site, h hand) bool {
		a := s.asks("ai10", "slow", `{"ms":1010}`)
		if s.name != "serve" { // which would wait for the dialog's answer
			h.sees(a)
		}
		s.refused(a, -31002)
		if s.client != nil {
			s.client.closed(a)
		}
		if s.name != "serve" {
			h.says(a, true)
		}
		s.never("1010")
		return true
	}, nil},
	{"AI-11", "what is no clear yes is none", func(s *site, h hand) bool {
		a := s.asks("ai11", "write_file", `{"path":"/ai11"}`)
		h.sees(a)
		h.garbles(a)
		s.never("/ai11")
		if s.loose {
			s.takesBack(a)
		} else {
			s.refused(a, -31001)
		}
		return true
	}, nil},
	{"AI-12", "when its caller takes a call back the question goes, and an answer is too late", func(s *site, h hand) bool {
		a := s.asks("ai12", "write_file", `{"path":"/ai12"}`)
		h.sees(a)
		s.takesBack(a)
		h.says(a, true)
		s.never("/ai12")
		return true
	}, map[string]string{}},
	{"AI-15", "what cannot be seen is shown for what it is", func(s *site, h hand) bool {
		a := s.asks("ai15", "write_file", `{"path":"/ai15\u202e\u200b\u001b[31m"}`)
		shown := h.sees(a)
		if strings.ContainsAny(shown, "\u202e\u200b\x1b") || !strings.Contains(strings.ToLower(shown), "202e") {
			s.Errorf("this is shown: %q", shown)
		}
		h.says(a, false)
		s.refused(a, -31001)
		return true
	}, nil},
	{"AI-16", "who asks, for what, and the digest that the caller reads too", func(s *site, h hand) bool {
		a := s.asks("ai16", "write_file", `{"path":"/sixteen"}`)
		shown := h.sees(a)
		for _, part := range []string{a.from, "write_file", "/sixteen", "fs", a.short} {
			if !strings.Contains(shown, part) {
				s.Errorf("%s is not in %s", part, shown)
			}
		}
		if told := s.progress(a); !strings.Contains(told, a.short) {
			s.Errorf("the caller is told %s", told)
		}
		h.says(a, false)
		s.refused(a, -31001)
		return true
	}, nil},
	{"AI-19", "nothing but an answer decides", func(s *site, h hand) bool {
		a := s.asks("ai19", "write_file", `{"path":"/ai19"}`)
		h.sees(a)
		h.idles(a)
		s.never("/ai19")
		h.says(a, true)
		s.served(a)
		return true
	}, nil},
	{"AI-20", "a question is passed on to whom the policy names, and to nobody else", func(s *site, h hand) bool {
		if h.passesOn == nil {
			return false
		}
		a := s.asks("ai20", "progress", `{"n":1}`)
		h.sees(a)
		h.passesOn(a, "ai20")
		s.never(`"progress"`)
		if slices.Contains([]string{"serve", "card", "host"}, s.name) { // where it is read as a no
			s.refused(a, -31001)
		} else {
			s.takesBack(a)
		}
		b := s.asks("ai20b", "progress", `{"n":2,"secret":"HIDDEN"}`)
		h.sees(b)
		h.passesOn(b, "carol")
		q := s.putTo("carol", b)
		if strings.Contains(q.frame, "HIDDEN") {
			s.Errorf("the topic is shown %s", q.frame)
		}
		if s.name != "serve" { // there the dialog has gone with its answer
			h.says(b, true)
		}
		s.never("HIDDEN")
		s.answers("carol", q.env, q.id, anYes)
		s.served(b)
		if s.ran("HIDDEN") != 1 {
			s.Error("the server was given something else")
		}
		return true
	}, map[string]string{"terminal": "its keys are played in TestPassItOn", "telegram": noForm, "slack": noForm}},
	{"AI-21", "who proposed is shown, and what was proposed is what runs", func(s *site, h hand) bool {
		if s.client != nil {
			return false
		}
		s.seat("ai21").send(d1.frame("ai21-1", "ai21", "fs", "mcp/proposal:tools/call:write_file", "", `{"method":"tools/call","params":{"name":"write_file","arguments":{"path":"/ai21"}}}`))
		a := s.question("ai21", "ai21-1")
		if shown := h.sees(a); !strings.Contains(shown, "ai21") {
			s.Errorf("this is shown: %s", shown)
		}
		h.says(a, true)
		s.bridge.await(`{"event":"started","tool":"write_file"}`)
		s.never("/none")
		if s.ran(`{"path":"/ai21"}`) != 1 {
			s.Errorf("%s", s.bridge.about())
		}
		return true
	}, map[string]string{"host": "a client proposes nothing to its server"}},
	{"AI-22", "an answer from where the question was not shown is none", func(s *site, h hand) bool {
		if h.unshown == nil {
			return false
		}
		a := s.asks("ai22", "write_file", `{"path":"/ai22"}`)
		h.sees(a)
		h.unshown(a)
		s.never("/ai22")
		h.says(a, true)
		s.served(a)
		return true
	}, map[string]string{"terminal": "keys that were pressed before it was shown: TestTypeAheadDecidesNothing", "socket": "whoever is this user is this person; what they answer carries the digest", "serve": "a dialog is where it was shown"}},
	{"AI-23", "an answer carries the digest of what was shown", func(s *site, h hand) bool {
		if h.wrongly == nil {
			return false
		}
		a := s.asks("ai23", "write_file", `{"path":"/ai23"}`)
		h.sees(a)
		if told := h.wrongly(a); strings.Contains(told, "allowed by") {
			s.Errorf("they are told %s", told)
		}
		s.never("/ai23")
		h.says(a, true)
		s.served(a)
		return true
	}, map[string]string{"terminal": "the digest's first characters are the yes: a wrong one locks the keys (AI-11 here)", "topic": "the ids of an envelope are of one digest: a change is a new question", "serve": ofOneDigest, "host": ofOneDigest}},
	{"AI-24", "what the policy hides does not leave this machine", func(s *site, h hand) bool {
		a := s.asks("ai24", "echo", `{"secret":"PLANTED"}`)
		if shown := h.sees(a); strings.Contains(shown, "PLANTED") == s.away {
			s.Errorf("this is shown: %s", shown)
		}
		h.says(a, true)
		s.served(a)
		if s.ran("PLANTED") != 1 {
			s.Error("the server was given something else")
		}
		return true
	}, nil},
}

// below are the rules that are about what is behind all surfaces, and where that is shown.
var below = map[string]string{
	"AI-13": "what is on the disk before what runs: TestNothingRunsUnrecordedOrTwiceHoweverOftenTheBridgeIsKilled, and AI-13 at the end here",
	"AI-14": "the stricter of the policies then and now: TestAI14TheStricterPolicyHolds; a file is read again at a signal, which is of the whole process",
	"AI-17": "how many questions there are: O65 of TestOraclesOfApprovals",
	"AI-18": "what is remembered: TestAYesForGoodIsWrittenDownAndCanBeTakenBack",
}

// AI-1 to AI-24 hold at each surface (RELIABILITY 2.1), from outside and with real parts.
func TestTheRulesOfApprovalHoldAtEverySurface(t *testing.T) {
	for _, of := range askedAt {
		t.Run(of.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, of)
			h := of.open(s)
			for _, r := range rules24 {
				t.Run(r.id, func(t *testing.T) {
					s.T, s.bridge.t = t, t
					if why := r.not[of.name]; r.play(s, h) != (why == "") {
						t.Errorf("%s (%s) is played, or there is no reason why not", r.id, r.says)
					}
				})
			}
			s.T, s.bridge.t = t, t
			s.recorded()
		})
	}
}

// recorded: what people decided is on record before it starts (AI-13).
func (s *site) recorded() {
	s.Helper()
	s.bridge.finish()
	log, err := os.ReadFile(filepath.Join(s.home, "mcpx-bridge", "audit", "fs.jsonl"))
	if err != nil {
		s.Fatal(err)
	}
	decided, started := map[string]bool{}, 0
	for line := range strings.Lines(string(log)) {
		var r struct{ Event, Call, Verdict string }
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			s.Fatal(err)
		}
		switch r.Event {
		case "decided":
			decided[r.Call] = r.Verdict == "allow"
		case "started":
			if started++; !decided[r.Call] {
				s.Errorf("%s starts, and the record did not allow it before", r.Call)
			}
		}
	}
	if started < 5 {
		s.Errorf("%d calls started", started)
	}
}

// noSurfaces are packages that know of questions and in which nobody answers one.
var noSurfaces = map[string]string{
	"bridge/client":          "is what a participant is asked, for those before whom it is put",
	"bridge/grants":          "keeps what was remembered",
	"bridge/inbox/inboxtest": "is for tests",
	"bridge/inbox/keyring":   "has what the page hands in verified, before the desk hears of it",
	"bridge/node":            "has the inbox of the person at this machine",
	"bridge/sim":             "is the simulator",
}

// doors are the constants of [approval.Door].
func doors(t *testing.T) (names []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", "..", "bridge", "approval", "who.go"), nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range file.Decls {
		group, ok := d.(*ast.GenDecl)
		if !ok || group.Tok != token.CONST {
			continue
		}
		if of, _ := group.Specs[0].(*ast.ValueSpec).Type.(*ast.Ident); of == nil || of.Name != "Door" {
			continue
		}
		for _, spec := range group.Specs {
			names = append(names, spec.(*ast.ValueSpec).Names[0].Name)
		}
	}
	if len(names) < 3 {
		t.Fatalf("the doors are %q", names)
	}
	return names
}

// Whatever shows a question, or hands in an answer, is in the table of surfaces, or is none for a
// reason; each way to the desk is one's; and each rule is played, or is shown where it says.
func TestEverySurfaceIsInTheTable(t *testing.T) {
	at := map[string]bool{}
	for _, s := range askedAt {
		for _, name := range s.rooms {
			at[name] = true
		}
	}
	for _, r := range rooms(t, "linux") {
		shows := slices.Contains(r.Imports, module+"/bridge/inbox")
		if shows && !at[r.name()] && noSurfaces[r.name()] == "" {
			t.Errorf("%s knows of questions: put it into the table of surfaces, or say why it is none", r.name())
		}
	}
	for _, door := range doors(t) {
		if !slices.ContainsFunc(askedAt, func(s surface) bool { return s.door == door }) {
			t.Errorf("nobody answers by approval.%s: put who does into the table of surfaces", door)
		}
	}
	tests, told := allTests(t), fmt.Sprint(below)
	for _, r := range rules24 {
		told += fmt.Sprint(" ", r.id, " ", r.not)
	}
	for _, name := range regexp.MustCompile(`Test[A-Z]\w+`).FindAllString(told, -1) {
		if !tests[name] {
			t.Errorf("there is no %s", name)
		}
	}
	for n := range 24 {
		if !regexp.MustCompile(fmt.Sprintf(`\bAI-%d\b`, n+1)).MatchString(told) {
			t.Errorf("AI-%d is played nowhere", n+1)
		}
	}
}
