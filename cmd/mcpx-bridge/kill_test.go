package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/audit"
	realgateway "github.com/mcpx-protocol/mcpx-bridge/bridge/gateway"
)

// The bridge is killed with SIGKILL at random moments, under load, and started
// again; callers send what was not answered once more, with the same envelopes.
// Each call is named after what is to become of it:
//
//	run   nobody need be asked          no     alice declines
//	yes   alice approves                never  a rule denies it
//	back  its caller takes it back while alice approves
//
// The server writes each call it runs into a file of its own, synced, and looks
// whether the audit log already says that it may.
//
// MCPX_KILLS says how often; `make test` is content with a few.
func TestNothingRunsUnrecordedOrTwiceHoweverOftenTheBridgeIsKilled(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a killed process leaves its port and its lock later here")
	}
	t.Parallel()
	kills, err := strconv.Atoi(os.Getenv("MCPX_KILLS"))
	if err != nil {
		kills = 10
	}
	s := newSlaughter(t)
	for n := range kills {
		s.epoch(n)
	}
	s.last()
	s.account(kills)
}

const killRules = `version: 1
default: deny
asks:
  alice: {of: [alice], within: 60s}
rules:
  - {name: reads, allow: [run]}
  - {name: writes, ask: ["yes", "no", back], as: alice}
  - {name: never, deny: [never]}
`

// theFates, and how often each is chosen.
var theFates = strings.Fields("run run run yes yes yes no never back")

// A slaughter is everything that outlives the bridge.
type slaughter struct {
	t       *testing.T
	url     string
	via     string // the bridge's way there
	token   string
	policy  string
	audit   string
	journal string // of the server
	program string
	server  string
	home    string

	alice   *guest
	callers []*guest
	fate    *rand.Rand
	torn    int // tails that were torn

	mu    sync.Mutex
	calls map[string]*fatedCall // by envelope; guarded by mu, as is what follows
	open  int                   // those that somebody still waits for
	less  chan struct{}         // closed, and made anew, when open is less
}

// A fatedCall is a call, and what its caller heard of it.
type fatedCall struct {
	env, fate, frame string
	by               *guest
	results          int
	errors           []string // data.executed of each
	waits            bool
}

func newSlaughter(t *testing.T) *slaughter {
	dir := t.TempDir()
	s := &slaughter{t: t, policy: filepath.Join(dir, "rules.yaml"), audit: filepath.Join(dir, "audit", "fs.jsonl"), journal: filepath.Join(dir, "journal"),
		home: dir, calls: map[string]*fatedCall{}, less: make(chan struct{}), fate: rand.New(rand.NewPCG(1, 2))}
	var err error
	if s.program, err = exec.LookPath("mcpx-bridge"); err != nil {
		t.Fatal(err)
	}
	if s.server, err = exec.LookPath("journal"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.policy, []byte(killRules), 0o600); err != nil {
		t.Fatal(err)
	}
	g, err := realgateway.New(realgateway.Options{Secret: []byte(strings.Repeat("s", 32))})
	if err != nil {
		t.Fatal(err)
	}
	door := httptest.NewServer(g)
	t.Cleanup(func() { g.Close(); door.Close() })
	s.url = "ws" + strings.TrimPrefix(door.URL, "http")
	s.via = s.url
	mint := func(id string) string {
		token, err := g.Mint(realgateway.Claims{ID: id, Topic: "t1"})
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	s.token = mint("fs")
	s.alice = s.seat("alice", mint("alice"), s.decide)
	for i := range 8 { // the number of questions a caller may put per minute has an end
		id := fmt.Sprintf("bob%d", i)
		s.callers = append(s.callers, s.seat(id, mint(id), s.answered))
	}
	return s
}

// A guest is a participant with nothing but a WebSocket.
type guest struct {
	t       *testing.T
	id      string
	ws      *websocket.Conn
	writing sync.Mutex
	n       int // frames sent; guarded by writing
}

func (s *slaughter) seat(id, token string, hear func(*guest, []byte)) *guest {
	return sit(s.t, s.url, d1, id, token, hear)
}

// sit joins a topic as the dialect's own clients do. hear gets every frame.
func sit(t *testing.T, url string, d tongue, id, token string, hear func(*guest, []byte)) *guest {
	t.Helper()
	header := http.Header{"Authorization": {"Bearer " + token}}
	at := url + d.path + "?topic=t1"
	if d.list {
		at = url + "/?space=t1"
	}
	ws, _, err := websocket.DefaultDialer.Dial(at, header)
	if err != nil {
		t.Fatal(err)
	}
	g := &guest{t: t, id: id, ws: ws}
	if d.list {
		g.send(fmt.Sprintf(`{"protocol":%q,"kind":"system/join","id":"j","payload":{"participantId":%q,"space":"t1","token":%q}}`, d.protocol, id, token))
	}
	seated, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for n := 0; ; n++ {
			_, frame, err := ws.ReadMessage()
			if err != nil {
				return
			}
			if n == 0 {
				close(seated)
			}
			hear(g, frame)
		}
	}()
	t.Cleanup(func() { ws.Close(); <-done })
	<-seated
	return g
}

func (g *guest) send(frame string) {
	g.writing.Lock()
	defer g.writing.Unlock()
	if err := g.ws.WriteMessage(websocket.TextMessage, []byte(frame)); err != nil {
		g.t.Errorf("%s cannot send: %v", g.id, err)
	}
}

// fresh is an envelope id that was not used before.
func (g *guest) fresh() string {
	g.writing.Lock()
	defer g.writing.Unlock()
	g.n++
	return fmt.Sprintf("%s-f%d", g.id, g.n)
}

// decide is alice: she does what the name of the tool says, and says it twice.
func (s *slaughter) decide(alice *guest, frame []byte) {
	var q struct {
		ID      string
		Payload struct {
			ID     json.RawMessage
			Method string
			Params struct {
				Metadata struct{ OriginalRequest struct{ Tool string } }
			}
		}
	}
	if json.Unmarshal(frame, &q) != nil || q.Payload.Method != "elicitation/create" {
		return
	}
	result := `{"action":"accept","content":{"approve":true}}`
	if q.Payload.Params.Metadata.OriginalRequest.Tool == "no" {
		result = `{"action":"decline"}`
	}
	for range 2 {
		alice.send(d1.frame(alice.fresh(), "alice", "fs", d1.kind("response", "elicitation/create", ""), q.ID,
			fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, q.Payload.ID, result)))
	}
}

// answered is a caller who hears of a call.
func (s *slaughter) answered(to *guest, frame []byte) {
	var m struct {
		To      []string
		Corr    string `json:"correlation_id"`
		Payload struct {
			Result json.RawMessage
			Error  *struct{ Data struct{ Executed string } }
		}
	}
	if json.Unmarshal(frame, &m) != nil || m.Corr == "" || !slices.Equal(m.To, []string{to.id}) {
		return // everybody hears everything
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.calls[m.Corr]
	switch {
	case c == nil:
		return
	case m.Payload.Result != nil:
		c.results++
	case m.Payload.Error != nil:
		c.errors = append(c.errors, m.Payload.Error.Data.Executed)
	default:
		return
	}
	s.done(c)
}

// done is called with mu held.
func (s *slaughter) done(c *fatedCall) {
	if c.waits {
		c.waits = false
		s.open--
		close(s.less)
		s.less = make(chan struct{})
	}
}

// call makes one more call, as soon as fewer than 16 are open.
func (s *slaughter) call(stop <-chan struct{}) bool {
	s.mu.Lock()
	for s.open >= 16 {
		less := s.less
		s.mu.Unlock()
		select {
		case <-less:
		case <-stop:
			return false
		}
		s.mu.Lock()
	}
	n := len(s.calls)
	c := &fatedCall{fate: theFates[s.fate.IntN(len(theFates))], by: s.callers[s.fate.IntN(len(s.callers))], waits: true}
	c.env = fmt.Sprintf("%s-%d", c.fate, n)
	c.frame = d1.request(c.env, c.by.id, "fs", call(strconv.Itoa(n), c.fate, fmt.Sprintf(`{"key":%q}`, c.env)))
	s.calls[c.env] = c
	s.open++
	s.mu.Unlock()
	c.by.send(c.frame)
	if c.fate == "back" {
		c.by.send(d1.request(c.by.fresh(), c.by.id, "fs", fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, n)))
		s.mu.Lock()
		s.done(c)
		s.mu.Unlock()
	}
	return true
}

// again sends once more what has had no answer, and some of what has.
func (s *slaughter) again() {
	s.mu.Lock()
	var all []*fatedCall
	for _, env := range slices.Sorted(maps.Keys(s.calls)) {
		c := s.calls[env]
		if c.waits || s.fate.IntN(len(s.calls)) < 10 {
			all = append(all, c)
		}
		s.done(c) // one that was accepted before the kill is not answered after it
	}
	s.mu.Unlock()
	for _, c := range all {
		c.by.send(c.frame)
	}
}

// A killable is the bridge as a process of its own.
type killable struct {
	*sidecar
	cmd *exec.Cmd
}

func (s *slaughter) start() *killable {
	return startKillable(s.t, s.home, s.token, "run", "--json", "--log-level", "warn", "--gateway", s.via, "--topic", "t1", "--id", "fs", "--policy", s.policy,
		"--audit", s.audit, "--", s.server, s.journal, s.audit)
}

// startKillable starts the bridge, which keeps all it has in home; the token may be
// "". It is killed when the test ends.
func startKillable(t *testing.T, home, token string, args ...string) *killable {
	t.Helper()
	program, err := exec.LookPath("mcpx-bridge")
	if err != nil {
		t.Fatal(err)
	}
	k := &killable{sidecar: &sidecar{t: t, events: newDiary(), stderr: newDiary()}, cmd: exec.Command(program, args...)}
	k.cmd.Env = append(os.Environ(), "HOME="+home, "XDG_STATE_HOME="+home, "GORACE=atexit_sleep_ms=0")
	if token != "" {
		k.cmd.Env = append(k.cmd.Env, "MCPX_AUTH_TOKEN="+token)
	}
	k.cmd.Stdout, k.cmd.Stderr = k.events, k.stderr
	k.cmd.WaitDelay = time.Second // its server may hold them a little longer
	if err := k.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.kill)
	return k
}

func (k *killable) kill() {
	k.cmd.Process.Kill()
	k.cmd.Wait()
}

// epoch is one life of the bridge.
func (s *slaughter) epoch(n int) {
	k := s.start()
	if n%8 == 7 { // some die while they still find their way
		time.Sleep(time.Duration(s.fate.IntN(200)) * time.Millisecond)
		k.kill()
		return
	}
	k.ready()
	s.wellKept("after kill", n)
	s.again()
	stop, stopped := make(chan struct{}), make(chan struct{})
	moment := time.Duration(s.fate.IntN(300)) * time.Millisecond
	go func() {
		defer close(stopped)
		for s.call(stop) {
			select {
			case <-stop:
				return
			default:
			}
		}
	}()
	time.Sleep(moment)
	k.kill()
	close(stop)
	<-stopped
	if n%3 == 0 {
		s.tear()
	}
}

// tear leaves half a record at the end of the log, as a crash in the middle of
// a write does.
func (s *slaughter) tear() {
	f, err := os.OpenFile(s.audit, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		s.t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(`{"seq":7,"ts":"2026-01-`); err != nil {
		s.t.Fatal(err)
	}
	s.torn++
}

// wellKept: the log verifies.
func (s *slaughter) wellKept(when string, n int) audit.Report {
	s.t.Helper()
	r, err := audit.VerifyLog(s.audit, audit.Checks{})
	if err != nil || !r.OK {
		s.t.Errorf("%s %d: %+v %v %v", when, n, r, r.Fault, err)
	}
	return r
}

// last is a life that ends well.
func (s *slaughter) last() {
	k := s.start()
	k.ready()
	s.again()
	for range 40 {
		s.call(nil)
	}
	s.end(k)
}

// end waits until nobody waits for an answer, and ends the bridge.
func (s *slaughter) end(k *killable) {
	s.t.Helper()
	late := time.After(patience)
	s.mu.Lock()
	for s.open > 0 {
		less := s.less
		s.mu.Unlock()
		select {
		case <-less:
		case <-late:
			s.t.Fatalf("calls stay open\n%s", k.about())
		}
		s.mu.Lock()
	}
	s.mu.Unlock()
	_ = k.cmd.Process.Signal(syscall.SIGTERM)
	if err := k.cmd.Wait(); err != nil {
		s.t.Errorf("%v\n%s", err, k.about())
	}
}

// ran is what the server wrote down.
func (s *slaughter) ran() (times map[string]int) {
	times = map[string]int{}
	for line := range strings.Lines(recorded(s.journal)) {
		key, recorded, _ := strings.Cut(strings.TrimSpace(line), " ")
		times[key]++
		if recorded != "recorded" {
			s.t.Errorf("%s ran before there was a record that it may", key)
		}
	}
	return times
}

// account holds what ran, what was answered and what is on record together.
func (s *slaughter) account(kills int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ran := s.ran()
	executions, violations := 0, 0
	wrong := func(format string, a ...any) {
		violations++
		s.t.Errorf(format, a...)
	}
	fates := map[string]int{}
	for key, times := range ran {
		executions += times
		c := s.calls[key]
		if times > 1 || c == nil || c.fate == "no" || c.fate == "never" {
			wrong("%s ran %d times", key, times)
		}
	}
	for env, c := range s.calls {
		fates[c.fate]++
		if c.results > 1 || c.results > 0 && ran[env] != 1 || slices.Contains(c.errors, "no") && ran[env] != 0 {
			wrong("%s was answered with %d results and %q, and ran %d times", env, c.results, c.errors, ran[env])
		}
	}
	r := s.wellKept("after everything", kills)
	records, err := recordsIn(s.audit)
	if err != nil {
		wrong("the log cannot be read: %v", err)
	}
	for _, call := range unfinished(records) {
		wrong("the log has no last word on %s", call)
	}
	if named := tails(records); named < s.torn {
		wrong("%d tails were torn, and %d are named", s.torn, named)
	}
	if len(r.Unfinished) > 0 || !r.Closed {
		wrong("%d calls have started and not ended; closed: %v", len(r.Unfinished), r.Closed)
	}
	s.t.Logf("%d kills, %d calls (%v), %d starts on record, %d executions, %d audit records in %d files, %d recoveries, %d torn tails, %d violations",
		kills, len(s.calls), fates, r.Starts, executions, r.Records, r.Files, r.Recoveries, s.torn, violations)
}

// recordsIn are all records of a log.
func recordsIn(path string) (all []killRecord, err error) {
	files, err := audit.Files(path)
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		for line := range strings.Lines(recorded(file)) {
			var r killRecord
			if err := json.Unmarshal([]byte(line), &r); err != nil {
				return nil, fmt.Errorf("%w: %s", err, line)
			}
			all = append(all, r)
		}
	}
	return all, nil
}

type killRecord struct {
	Event, Env, Verdict string
	Call                json.RawMessage
	Torn                int
}

// unfinished are calls that were accepted and have no last word, or one before
// they started.
func unfinished(records []killRecord) []string {
	open, ended := map[string]string{}, map[string]bool{}
	for _, r := range records {
		switch call := string(r.Call); {
		case call == "":
		case ended[call] && r.Event == "started":
			open[call] = r.Env
		case r.Event == "ended", r.Event == "rejected", r.Event == "withdrawn":
			ended[call] = true
			delete(open, call)
		case !ended[call]:
			open[call] = r.Env
		}
	}
	return slices.Sorted(maps.Values(open))
}

// tails is how many torn tails the log names.
func tails(records []killRecord) (n int) {
	for _, r := range records {
		if r.Torn > 0 {
			n++
		}
	}
	return n
}

// playJournal is the program "journal": an MCP server with the tools of the
// fates. Its arguments are its own file and the audit log.
func playJournal() {
	book, err := os.OpenFile(os.Args[1], os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	j := journal{book: book, log: os.Args[2], allowed: map[string]bool{}}
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		j.take(line)
	}
}

type journal struct {
	book    *os.File
	log     string
	read    int64           // bytes of the log
	allowed map[string]bool // envelopes that it says may run
}

func (j *journal) take(line []byte) {
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct{ Arguments struct{ Key string } }
	}
	if json.Unmarshal(line, &m) != nil || m.ID == nil {
		return
	}
	result := "{}"
	switch m.Method {
	case "initialize":
		result = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"journal","version":"1"}}`
	case "tools/list":
		var tools []string
		for _, name := range slices.Compact(slices.Sorted(slices.Values(theFates))) {
			tools = append(tools, fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object","properties":{"key":{"type":"string"}}}}`, name))
		}
		result = `{"tools":[` + strings.Join(tools, ",") + `]}`
	case "tools/call":
		j.run(m.Params.Arguments.Key)
		result = `{"content":[]}`
	default:
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`+"\n", m.ID)
		return
	}
	fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result)
}

// run runs a call: it writes that down.
func (j *journal) run(key string) {
	word := "recorded"
	if !j.allowed[key] {
		if j.look(); !j.allowed[key] {
			word = "unrecorded"
		}
	}
	if _, err := fmt.Fprintf(j.book, "%s %s\n", key, word); err != nil {
		os.Exit(1)
	}
	if err := j.book.Sync(); err != nil {
		os.Exit(1)
	}
}

// look reads what is new in the log.
func (j *journal) look() {
	f, err := os.Open(j.log)
	if err != nil {
		return
	}
	defer f.Close()
	size, err := f.Stat()
	if err != nil || size.Size() < j.read {
		j.read = 0 // another file has its name now
	}
	text := make([]byte, max(0, size.Size()-j.read))
	n, _ := f.ReadAt(text, j.read)
	text = text[:bytes.LastIndexByte(text[:n], '\n')+1]
	j.read += int64(len(text))
	for line := range bytes.Lines(text) {
		var r killRecord
		if json.Unmarshal(line, &r) == nil && r.Event == "decided" && r.Verdict == "allow" {
			j.allowed[r.Env] = true
		}
	}
}
