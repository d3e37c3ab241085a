package stdio

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/stdiotest"
)

// greets runs a server and returns what it was asked, launch by launch in one
// list, up to when it was up.
func greets(t *testing.T, script stdiotest.Script, probe time.Duration) (Hello, *session, []string) {
	t.Helper()
	record := filepath.Join(t.TempDir(), "stdin")
	script.Record = record
	if script.Then != nil {
		script.Mark, script.Then.Record = filepath.Join(t.TempDir(), "mark"), record
	}
	o := quick(stdiotest.Command(t, script))
	o.ProbeAfter = probe
	s := begin(t, o)
	h := s.up()
	s.put(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{` + string(h.Meta) + `}}}`)
	s.answer("1") // so that all before it has been read and recorded
	return h, s, methods(t, record)
}

func methods(t *testing.T, record string) (list []string) {
	t.Helper()
	for _, line := range stdiotest.Recorded(t, record) {
		m, err := jsonrpc.Parse([]byte(line), jsonrpc.Passed)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, m.Text(jsonrpc.Method))
	}
	return list
}

func TestEveryLegacyRevisionIsTaken(t *testing.T) {
	for _, revision := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2024-10-07"} {
		h, _, _ := greets(t, stdiotest.Script{Revision: revision}, 0)
		if h.Revision != revision || h.Modern || h.Meta != nil {
			t.Errorf("hello is %+v, want revision %s", h, revision)
		}
	}
}

// Servers offer their apps to who says that it shows some (MCP Apps, "Server Behavior").
func TestAServerHearsInBothErasThatAppsAreShown(t *testing.T) {
	for era, heard := range map[string]string{"legacy": "initialize", "modern": "tools/list"} {
		record := filepath.Join(t.TempDir(), "stdin")
		script := stdiotest.Script{Era: era, Record: record}
		s := begin(t, quick(stdiotest.Command(t, script)))
		h := s.up()
		s.put(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{` + string(h.Meta) + `}}}`)
		s.answer("1")
		lines := stdiotest.Recorded(t, record)
		at := slices.IndexFunc(lines, func(line string) bool { return strings.Contains(line, `"method":"`+heard+`"`) })
		if at < 0 || !strings.Contains(lines[at], `apabilities":{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html;profile=mcp-app"]}}}`) {
			t.Errorf("%s: it heard %q", era, lines)
		}
	}
}

// Some servers say beside each result that there was no error.
func TestAServerThatSaysThereWasNoErrorIsGreeted(t *testing.T) {
	for _, era := range []string{"legacy", "modern"} {
		if h, _, _ := greets(t, stdiotest.Script{Era: era, Null: true}, 0); h.Modern != (era == "modern") {
			t.Errorf("%s: hello is %+v", era, h)
		}
		c := host(t, stdiotest.Command(t, stdiotest.Script{Era: era, Null: true}), nil)
		c.say(map[string]string{
			"legacy": helloLegacy + "\n" + `{"jsonrpc":"2.0","method":"notifications/initialized"}`,
			"modern": `{"jsonrpc":"2.0","id":"d","method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`,
		}[era] + "\n")
		if h := c.up(); h.Modern != (era == "modern") || len(h.Result) == 0 {
			t.Errorf("%s, of a client: hello is %+v", era, h)
		}
	}
}

func TestServerThatAnswersInitializeIsNeverAskedToDiscover(t *testing.T) {
	for _, how := range []string{"refuse", "ignore", "die"} {
		_, _, got := greets(t, stdiotest.Script{Discover: how}, 0)
		if want := []string{"initialize", "notifications/initialized", "tools/list"}; !slices.Equal(got, want) {
			t.Errorf("%s: server was sent %q, want %q", how, got, want)
		}
	}
}

func TestModernServerIsFoundWhenItRefusesInitialize(t *testing.T) {
	h, _, got := greets(t, stdiotest.Script{Era: "modern", Name: "new"}, 0)
	if !h.Modern || h.Revision != "2026-07-28" || string(h.ServerInfo) != `{"name":"new","version":"1"}` {
		t.Errorf("hello is %+v, want the modern server", h)
	}
	if want := []string{"initialize", "server/discover", "tools/list"}; !slices.Equal(got, want) {
		t.Errorf("server was sent %q, want %q", got, want)
	}
}

func TestModernServerIsFoundWhenItIgnoresInitialize(t *testing.T) {
	h, _, got := greets(t, stdiotest.Script{Era: "modern", Initialize: "ignore"}, 50*time.Millisecond)
	if want := []string{"initialize", "server/discover", "tools/list"}; !h.Modern || !slices.Equal(got, want) {
		t.Errorf("modern %v, sent %q, want %q", h.Modern, got, want)
	}
}

func TestModernServerIsFoundWhenItDiesOfInitialize(t *testing.T) {
	h, s, got := greets(t, stdiotest.Script{Era: "modern", Initialize: "die"}, 0)
	if want := []string{"initialize", "server/discover", "tools/list"}; !h.Modern || !slices.Equal(got, want) {
		t.Errorf("modern %v, sent %q, want %q", h.Modern, got, want)
	}
	if i := slices.IndexFunc(s.all(), func(e entry) bool { return e.what == "down" }); i < 0 || !s.all()[i].exit.Restarting || s.all()[i].exit.In != 0 {
		t.Errorf("the first launch should be told as down and restarting at once: %s", s.diary)
	}
}

func TestSlowServerThatDiesOfTheProbeIsLaunchedAgainWithoutIt(t *testing.T) {
	slow := &stdiotest.Script{Discover: "die", Delay: 300}
	h, _, got := greets(t, stdiotest.Script{Initialize: "ignore", Discover: "die", Then: slow}, 100*time.Millisecond)
	want := []string{"initialize", "server/discover", "initialize", "notifications/initialized", "tools/list"}
	if h.Modern || !slices.Equal(got, want) {
		t.Errorf("modern %v, sent %q, want %q", h.Modern, got, want)
	}
}

func TestSlowServerThatIgnoresTheProbeComesUpLegacy(t *testing.T) {
	h, _, got := greets(t, stdiotest.Script{Discover: "ignore", Delay: 200}, 20*time.Millisecond)
	want := []string{"initialize", "server/discover", "notifications/initialized", "tools/list"}
	if h.Modern || !slices.Equal(got, want) {
		t.Errorf("modern %v, sent %q, want %q", h.Modern, got, want)
	}
}

func TestLateAnswerToTheLosingQuestionIsNotHandedOn(t *testing.T) {
	h, s, _ := greets(t, stdiotest.Script{Era: "dual", Delay: 200}, 20*time.Millisecond)
	if !h.Modern {
		t.Fatalf("hello is %+v, want the modern answer, which came first", h)
	}
	s.put(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"slow","arguments":{"ms":400}}}`)
	s.answer("2") // initialize has been answered meanwhile
	for _, e := range s.all() {
		if strings.Contains(e.text, "mcpx-init") {
			t.Errorf("handed on: %s", e.text)
		}
	}
}

func TestEraIsRememberedForTheNextLaunch(t *testing.T) {
	record := filepath.Join(t.TempDir(), "stdin")
	s := serve(t, stdiotest.Script{Era: "modern", Record: record})
	s.up()
	s.server.Restart("to see")
	s.down()
	s.up()
	if got, want := methods(t, record), []string{"initialize", "server/discover", "server/discover"}; !slices.Equal(got, want) {
		t.Errorf("server was sent %q, want %q", got, want)
	}
}

func TestWhatTheServerSaysBeforeTheHandshakeComesAfterUpInOrder(t *testing.T) {
	early := []string{
		`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`,
		`{"jsonrpc":"2.0","id":0,"method":"roots/list"}`,
		`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}`,
	}
	s := serve(t, stdiotest.Script{Early: early})
	if first, _ := s.read(0, time.After(patience)); first.what != "up" {
		t.Errorf("first is %q, want up", first.what)
	}
	for _, want := range early {
		if got := s.next("message").text; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestPingBeforeTheHandshakeIsAnswered(t *testing.T) {
	record := filepath.Join(t.TempDir(), "stdin")
	s := serve(t, stdiotest.Script{Record: record, Early: []string{`{"jsonrpc":"2.0","id":"p","method":"ping"}`}})
	s.up()
	s.call("echo", "{}")
	if got, want := stdiotest.Recorded(t, record)[1], `{"jsonrpc":"2.0","id":"p","result":{}}`; got != want {
		t.Errorf("server was sent %s, want %s", got, want)
	}
}

func TestServerThatRefusesBothErasIsNamedWithItsAnswers(t *testing.T) {
	o := quick(stdiotest.Command(t, stdiotest.Script{Era: "modern", Discover: "refuse"}))
	o.Restart.Restarts = -1
	s := begin(t, o)
	x := s.wantCause(CauseHandshake)
	err := s.finished()
	if e, ok := errors.AsType[*StartError](err); !ok || !strings.Contains(e.Error(), "-32022") || !strings.Contains(e.Error(), "-32601") {
		t.Errorf("error is %v, want a StartError with both answers", err)
	}
	wantGone(t, x.PID)
}

func TestServerThatNeverAnswersInitializeIsKilled(t *testing.T) {
	o := quick(stdiotest.Command(t, stdiotest.Script{Initialize: "ignore", Discover: "ignore", IgnoreEOF: true, IgnoreTerm: true}))
	o.StartTimeout, o.ProbeAfter, o.Restart.Restarts = 300*time.Millisecond, 50*time.Millisecond, -1
	s := begin(t, o)
	x := s.wantCause(CauseInitTimeout)
	if err := s.finished(); err == nil || !strings.Contains(err.Error(), "did not answer initialize in time") {
		t.Errorf("error is %v", err)
	}
	wantGone(t, x.PID)
}

func TestServerThatOnlyTalksIsNotListenedToForEver(t *testing.T) {
	early := slices.Repeat([]string{`{"jsonrpc":"2.0","method":"notifications/message"}`}, maxEarly+1)
	o := quick(stdiotest.Command(t, stdiotest.Script{Start: early, Deaf: true}))
	o.Restart.Restarts = -1
	begin(t, o).wantCause(CauseHandshake)
}
