package main

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/stdiotest"
)

// What the bridges there are get wrong, as observed, and where it is shown that
// this one does not. Many are shown by the oracles or the corpus; what is not,
// or only from inside, is shown below by a test named after what goes wrong.
//
// A trap is one observation. test is a function, or the beginning of the name
// of a subtest, in the tests of room; "" is here.
type trap struct{ what, room, test string }

var traps = []trap{
	// The reference bridge and gateway, v0.
	{"the welcome is not recognised, so tools are never served", "", "O2"},
	{"the joiner sees itself join before the welcome", "", "O1"},
	{"an outage longer than the first retry is never recovered from", "", "TestAnOutageLongerThanTheFirstRetryIsSurvived"},
	{"an outage longer than the first retry is never recovered from", "bridge/topic", "TestGatewayAwayForLong"},
	{"a bogus token is retried every second for ever", "", "O11"},
	{"a bogus token is retried every second for ever", "bridge/topic", "TestNoHotLoop"},
	{"a fast reconnect leaves a ghost", "bridge/gateway", "TestNoGhostAfterReconnect"},
	{"a fast reconnect leaves a ghost", "bridge/topic", "TestGhost"},
	{"an answer that comes during an outage is lost", "", "TestAnAnswerThatComesDuringAnOutageWaits"},
	{"after a crash the server stays dead while the bridge looks healthy", "", "TestACrashedServerComesBack"},
	{"a server that never answers initialize is waited for in silence", "", "TestBadServers"},
	{"a gateway that is down at start ends the bridge", "", "TestAGatewayThatIsDownAtStartIsWaitedFor"},
	{"the codes and data of a server's errors are lost", "", "TestServerErrorsKeepCodeAndData"},
	{"only initialize, tools/list and tools/call are served", "", "TestEveryMethodOfTheServerCanBeReached"},
	{"the bridge answers initialize with itself instead of the server", "", "TestEveryMethodOfTheServerCanBeReached"},
	{"an unknown content type fails the whole call", "", "TestAnswersOfAnUnknownShapePass"},
	{"progress tokens and progress are dropped", "", "O37"},
	{"the server's notifications are dropped", "", "TestNotificationsOfTheServerAreRoutedAndNoneVanishes"},
	{"cancellation is ignored", "", "O35"},
	{"the server's questions hang, or get a made-up answer", "", "TestQuestionsOfTheServerAreRefusedAndNotFaked"},
	{"calls of more than 60 s fail and there is no option", "", "TestTheTimeOfACallIsTheOwnersToSet"},
	{"a broadcast request is executed", "", "O21"},
	{"garbage on the server's stdout is passed on or ends the session", "", "TestBadServerOutput"},
	{"a message over the limit is lost without a word", "", "TestAnAnswerOverTheLimitIsAnErrorAndNotSilence"},
	{"a message of some MiB takes seconds or is refused", "", "TestEightMebibytesCrossBothWays"},
	{"history fills the gateway's memory until it dies", "bridge/gateway", "TestHistoryIsBoundedInBytes"},
	{"a history limit of 0 means no limit", "bridge/gateway", "TestNoHistory"},
	{"a reader that stands still fills the gateway's memory", "bridge/gateway", "slowReaderIsCut"},
	{"a reader that stands still fills the gateway's memory", "bridge/gateway", "TestSlowLocal"},
	{"a gateway that stands still fills the bridge's memory", "bridge/topic", "TestBlockedGateway"},
	{"the gateway's rate limit eats answers", "bridge/topic", "TestPacing"},
	{"a frozen gateway goes unnoticed", "bridge/topic", "TestHalfOpen"},
	{"a forged sender is dropped without a word", "bridge/gateway", "TestCorpusFrames"},
	{"a request to somebody absent is met with silence", "bridge/gateway", "TestAbsentRecipient"},
	{"anybody can have a token for any name", "bridge/gateway", "TestOpenTokens"},
	{"the secret that signs tokens has a default", "bridge/gateway", "TestSecretMustKeepSomebodyOut"},
	{"the gateway listens to every network", "", "TestBadCommandLines"},
	{"the server gets our token with our environment", "", "TestTheServersEnvironment"},
	{"the token is in the log", "", "TestATokenIsInNoLog"},
	{"copies of our own messages come back to us", "", "O22"},
	{"a killed bridge leaves its server behind", "stdio", "TestServerDiesWithABridgeThatIsKilled"},

	// Its later versions.
	{"requests without jsonrpc and id are not answered", "", "O92"},
	{"any token is accepted, and takes over a seat that is taken", "bridge/gateway", "TestMewJoin"},
	{"a gateway that restarts ends the bridge", "", "O11"},
	{"a crash is answered only by the time-out", "", "TestACrashedServerComesBack"},
	{"lists that the server has are answered empty by the bridge", "", "TestEveryMethodOfTheServerCanBeReached"},
	{"the server is greeted with a revision that there is not", "", "TestTheServerIsGreetedWithARevisionOfMCP"},

	// Other bridges.
	{"string ids become null", "", "O19"},
	{"notifications of one call go to everybody", "", "O37"},
	{"after a crash every later call hangs or finds a broken pipe", "", "TestACrashedServerComesBack"},
	{"bad JSON is ignored in silence", "", "TestBadFrames"},
	{"5 MiB are refused", "", "TestEightMebibytesCrossBothWays"},
}

func TestEveryTrapHasItsTest(t *testing.T) {
	for _, trap := range traps {
		room := "cmd/mcpx-bridge"
		if trap.room != "" {
			room = trap.room
		}
		if strings.HasPrefix(trap.test, "O") {
			proof{room: room}.check(t, trap.test)
		} else {
			proof{room: room, test: trap.test}.check(t, trap.what)
		}
	}
}

// eachTry has the log tell of each try; it warns once of what stays the same.
var eachTry = []string{"--log-level", "debug"}

func TestAnOutageLongerThanTheFirstRetryIsSurvived(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, d tongue) {
		t.Parallel()
		g, s := perform(t, d, launch{flags: eachTry})
		g.refuse.Store(http.StatusServiceUnavailable)
		g.drop()
		s.await(`{"event":"disconnected"}`)
		s.says("trying again", 3) // it is refused again and again
		g.refuse.Store(0)
		g.accept()
		g.greet("bob")
		s.await(`{"event":"reconnected"}`)
		g.serves("e1")
	})
}

func TestAnAnswerThatComesDuringAnOutageWaits(t *testing.T) {
	each(t, func(t *testing.T, d tongue) {
		t.Parallel()
		g, s := perform(t, d, launch{rules: openRules})
		g.request("b", "bob", call("1", "slow", `{"ms":100}`))
		g.request("c", "carol", call("1", "slow", `{"ms":100}`))
		s.await(`{"event":"started","env":"c"}`)
		g.drop()
		s.await(`{"event":"ended","env":"c","outcome":"ok"}`)
		g.accept()
		g.greet("bob") // carol is not back yet
		g.expect(d.reply("bob", "b", "tools/call", "slow", `{"id":1,"result":"*"}`))
		g.quiet()
		g.send(d.presence("carol-is-back", "join", "carol"))
		g.expect(d.reply("carol", "c", "tools/call", "slow", `{"id":1,"result":"*"}`))
	})
}

func TestAGatewayThatIsDownAtStartIsWaitedFor(t *testing.T) {
	t.Parallel()
	at, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at.Close() // nobody listens there now
	s := launch{flags: eachTry}.start(t, "ws://"+at.Addr().String())
	s.says("trying again", 2)
	if s.events.count(`{"event":"ready"}`) != 0 {
		t.Error("ready without a gateway")
	}
	g := &stage{t: t, d: d1, me: "fs", side: s, dialled: make(chan *session, 64), seen: map[string]bool{}, names: names{}}
	if at, err = net.Listen("tcp", at.Addr().String()); err != nil {
		t.Skipf("somebody else has the port now: %v", err)
	}
	server := &httptest.Server{Listener: at, Config: &http.Server{Handler: g}}
	server.Start()
	t.Cleanup(server.Close)
	t.Cleanup(func() { g.at.ws.Close() })
	g.accept()
	g.greet("bob")
	s.ready()
	g.serves("e1")
	s.finish()
}

func TestACrashedServerComesBack(t *testing.T) {
	each(t, func(t *testing.T, d tongue) {
		t.Parallel()
		g, s := perform(t, d, launch{rules: openRules})
		first := s.await(`{"event":"server_up"}`)["server_pid"]
		g.request("w", "carol", call("7", "wait", `{}`))
		g.request("x", "bob", call("7", "crash", `{}`))
		lost := `{"id":7,"!result":0,"error":{"code":-31008,"data":{"reason":"outcome_unknown","executed":"unknown"}}}`
		g.expectAll(d.reply("carol", "w", "tools/call", "wait", lost), d.reply("bob", "x", "tools/call", "crash", lost))
		g.request("down", "bob", call("8", "read_file", `{"path":"/a"}`))
		g.expect(d.reply("bob", "down", "tools/call", "read_file", `{"id":8,"error":{"code":-31007,"data":{"reason":"server_unavailable","executed":"no","retryable":true,"retry_after_ms":"*"}}}`))
		if second := s.await(`{"event":"server_up"}`)["server_pid"]; first == second {
			t.Errorf("the server is %v as before", first)
		}
		g.settle()
		g.serves("after")
	})
}

// The bytes of an error are the server's.
func TestServerErrorsKeepCodeAndData(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, d tongue) {
		g, _ := perform(t, d, launch{rules: openRules})
		g.request("e", "bob", call("1", "rpcerror", `{"code":-32042,"message":"custom <error>"}`))
		frame := g.expect(d.reply("bob", "e", "tools/call", "rpcerror", `{"id":1,"!result":0,"error":"*"}`))
		if want := `"error":{"code":-32042,"message":"custom <error>","data":{"detail":{"n":9007199254740993,"b":1,"a":"<&>"}}}`; !strings.Contains(frame, want) {
			t.Errorf("the caller got\n%s\ninstead of\n%s", frame, want)
		}
		g.request("r", "bob", `{"jsonrpc":"2.0","id":2,"method":"resources/templates/list"}`) // the server has none
		g.expect(d.reply("bob", "r", "resources/templates/list", "", `{"id":2,"error":{"code":-32601,"message":"Method not found: resources/templates/list"}}`))
		g.send(d.frame("p", "bob", "fs", d.kind("request", "tools/call", ""), "", `{"jsonrpc":"2.0","id":3,"method":"tools/call"}`))
		g.expect(`{"to":["bob"],"payload":{"id":3,"error":{"code":-32602}}}`)
	})
}

func TestEveryMethodOfTheServerCanBeReached(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, d tongue) {
		g, s := perform(t, d, launch{rules: openMethods(t), script: stdiotest.Script{Name: "the-server", Instructions: "read <me>"}})
		for i, c := range []struct{ method, params, result string }{
			{"initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}`,
				`{"protocolVersion":"2025-06-18","serverInfo":{"name":"the-server"},"instructions":"read <me>"}`},
			{"ping", `{}`, `{}`},
			{"tools/list", `{"cursor":"c1"}`, `{"tools":"*"}`},
			{"resources/list", `{"cursor":"c2"}`, `{"resources":[{"uri":"mem://a","name":"a"}]}`},
			{"resources/read", `{"uri":"mem://a"}`, `{"contents":[{"uri":"mem://a","text":"what is there"}]}`},
			{"prompts/list", `{}`, `{"prompts":[{"name":"greet"}]}`},
			{"prompts/get", `{"name":"greet","arguments":{"a":"b"}}`, `{"messages":"*"}`},
		} {
			env := fmt.Sprintf("m%d", i)
			payload := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, i, c.method, c.params)
			_, key := methodAndKey(payload)
			g.request(env, "bob", payload)
			g.expect(d.reply("bob", env, c.method, key, fmt.Sprintf(`{"id":%d,"!error":0,"result":%s}`, i, c.result)))
		}
		if !slices.ContainsFunc(s.given("tools/list"), func(line string) bool { return strings.Contains(line, `"params":{"cursor":"c1"}`) }) {
			t.Errorf("the cursor did not reach the server: %q", s.given("tools/list"))
		}
	})
}

// list_changed is O36, progress O37.
func TestNotificationsOfTheServerAreRoutedAndNoneVanishes(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, d tongue) {
		g, s := perform(t, d, launch{rules: append(openMethods(t), openRules...)})
		subscribe := func(env, who, method string) {
			g.request(env, who, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{"uri":"mem://a"}}`, method))
			g.next() // this server has no subscriptions and says so
		}
		subscribe("s1", "bob", "resources/subscribe")
		for i, c := range []struct{ kind, event string }{
			{"message", `{"event":"server_log","detail":"*"}`},
			{"custom", `{"event":"server_noise","reason":"notification_not_passed_on","method":"notifications/custom"}`},
		} {
			env := fmt.Sprintf("n%d", i)
			g.request(env, "bob", call("1", "notify", fmt.Sprintf(`{"kind":%q}`, c.kind)))
			g.expect(d.reply("bob", env, "tools/call", "notify", `{"id":1,"result":"*"}`)) // and nothing before it
			s.await(c.event)
		}
		g.quiet()
	})
}

func TestQuestionsOfTheServerAreRefusedAndNotFaked(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, d tongue) {
		g, s := perform(t, d, launch{rules: openRules})
		for i, method := range []string{"sampling/createMessage", "elicitation/create", "roots/list", "nobody/knows"} {
			env := fmt.Sprintf("q%d", i)
			g.request(env, "bob", call("1", "ask", fmt.Sprintf(`{"method":%q,"id":"7","params":{}}`, method)))
			frame := g.expect(d.reply("bob", env, "tools/call", "ask", `{"id":1,"result":{"content":[{"type":"text","text":"*"}]}}`))
			if !strings.Contains(frame, `\"code\":-32601`) || !strings.Contains(frame, `\"id\":\"7\"`) || strings.Contains(frame, `\"result\"`) {
				t.Errorf("the server, asking %s, was answered %s", method, frame)
			}
			s.await(fmt.Sprintf(`{"event":"warning","reason":"server_request_refused","method":%q}`, method))
		}
		g.request("ping", "bob", call("1", "ask", `{"method":"ping","id":"8"}`))
		if frame := g.next(); !strings.Contains(frame, `\"result\":{}`) {
			t.Errorf("the server's ping was answered %s", frame)
		}
		g.quiet()
	})
}

func TestTheTimeOfACallIsTheOwnersToSet(t *testing.T) {
	each(t, func(t *testing.T, d tongue) {
		t.Parallel()
		g, s := perform(t, d, launch{rules: openRules, flags: []string{"--timeout", "1s"}})
		g.request("w", "bob", call("1", "wait", `{}`))
		g.expect(d.reply("bob", "w", "tools/call", "wait", `{"id":1,"error":{"code":-31010,"data":{"reason":"call_timeout","executed":"unknown"}}}`))
		g.quiet()
		if n := len(s.given("notifications/cancelled")); n != 1 {
			t.Errorf("the server was told of %d cancellations", n)
		}
	})
	if text := recorded("run.go"); !strings.Contains(text, `"timeout", time.Minute`) {
		t.Error("the time of a call is not a minute where nobody set it")
	}
}

// An answer that no frame can carry cannot be delivered, but its caller hears
// of that, and the server lives.
func TestAnAnswerOverTheLimitIsAnErrorAndNotSilence(t *testing.T) {
	t.Parallel()
	d := d1
	g, s := perform(t, d, launch{rules: openRules})
	g.request("fits", "bob", call("1", "big", fmt.Sprintf(`{"bytes":%d}`, 16<<20-200))) // a line, but no frame
	g.expect(d.reply("bob", "fits", "tools/call", "big", `{"id":1,"error":{"code":-31013,"data":{"reason":"too_large","executed":"yes"}}}`))
	g.request("over", "bob", call("1", "big", fmt.Sprintf(`{"bytes":%d}`, 17<<20))) // not even a line
	g.expect(d.reply("bob", "over", "tools/call", "big", `{"id":1,"error":{"code":-31008,"data":{"reason":"outcome_unknown","executed":"unknown"}}}`))
	s.await(`{"event":"server_noise","reason":"child_line_too_long"}`)
	g.serves("after")
	if n := s.events.count(`{"event":"server_exit"}`); n != 0 {
		t.Errorf("the server was ended %d times", n)
	}
}

func TestATokenIsInNoLog(t *testing.T) {
	const token = "planted-secret"
	each(t, func(t *testing.T, d tongue) {
		t.Parallel()
		g, s := arrive(t, d, launch{env: map[string]string{"MCPX_AUTH_TOKEN": token}, flags: []string{"--debug", "wire,stdio", "--log-level", "debug"}})
		if d.list {
			if join := <-g.at.frames; !strings.Contains(join, token) {
				t.Errorf("the gateway did not get the token: %s", join)
			}
		}
		g.greet("bob")
		s.ready()
		g.send(d.frame("c", "bob", "fs", d.kind("request", "ping", ""), "", `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"token":"`+token+`"}}`))
		g.next()
		g.hangUp(1011, "your token "+token+" makes me sick")
		s.await(`{"event":"disconnected"}`)
		s.finish()
		if text := s.events.text() + s.stderr.text(); strings.Contains(text, token) {
			for line := range strings.Lines(text) {
				if strings.Contains(line, token) {
					t.Errorf("there it is: %s", cut(line))
				}
			}
		}
	})
}

func TestTheServerIsGreetedWithARevisionOfMCP(t *testing.T) {
	_, s := perform(t, d1, launch{})
	given := s.given("initialize")
	if len(given) != 1 || (names{}).mismatch(`{"params":{"protocolVersion":"2025-11-25","clientInfo":{"name":"mcpx-bridge","version":"*"}}}`, given[0]) != "" {
		t.Errorf("the server was given %q", given)
	}
}

// says waits until the log has said something so many times.
func (s *sidecar) says(what string, times int) {
	s.t.Helper()
	for late := time.Now().Add(patience); strings.Count(s.stderr.text(), what) < times; {
		if !s.stderr.wait(time.Until(late)) {
			s.t.Fatalf("the log does not say %q %d times\n%s", what, times, s.about())
		}
	}
}

// A gateway that repeats our token in its complaint does not get it into what
// we say and keep.
func TestATokenThatTheGatewayRepeatsIsNotLogged(t *testing.T) {
	for _, d := range []tongue{d1, mew4} {
		g, s := perform(t, d, launch{env: map[string]string{"MCPX_AUTH_TOKEN": "s3cret.s3cret"}, flags: []string{"--log-level", "debug", "--debug", "wire"}})
		g.send(fmt.Sprintf(`{"protocol":%q,"id":"sf","ts":"2026-01-01T00:00:00Z","from":"system:gateway","to":["fs"],"kind":"system/error","payload":{"error":"capability_violation","message":"no: s3cret.s3cret","code":"s3cret.s3cret","attempted_kind":"x/s3cret.s3cret"}}`, d.protocol))
		s.await(`{"event":"warning","reason":"gateway_fault"}`)
		g.quiet()
		s.finish()
		if text := s.events.text() + s.stderr.text(); strings.Contains(text, "s3cret.s3cret") || !strings.Contains(text, "[redacted]") {
			t.Errorf("%s: the token is in what is said:\n%s", d.protocol, text)
		}
	}
}
