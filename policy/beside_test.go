package policy_test

import (
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// What stands beside the arguments turns an allow into an ask, unless the file lists
// it by its name.
func TestWhatStandsBesideTheArgumentsRaisesAnAllow(t *testing.T) {
	const file = "default: deny\nrules:\n- {allow: [a]}\n- {ask: [b]}\n"
	for _, c := range []struct{ pass, tool, beside, want string }{
		{"", "a", ``, "allow"},
		{"", "a", `{"task":{}}`, "ask"},
		{"", "b", `{"task":{}}`, "ask"},
		{"", "c", `{"task":{}}`, "deny"},
		{"", "a", `{"_meta":{"account":"x"}}`, "ask"},
		{"", "a", `{"_meta":"x"}`, "ask"},
		{"", "a", `{`, "ask"},
		{"task", "a", `{"task":{}}`, "allow"},
		{"task", "a", `{"Task":{}}`, "ask"},
		{"task", "a", `{"task":{},"x":1}`, "ask"},
		{"task", "a", `{"_meta":{"task":1}}`, "ask"},
		{"_meta.account", "a", `{"_meta":{"account":"x"}}`, "allow"},
		{"_meta.account", "a", `{"_meta":{"account":"x","b":1}}`, "ask"},
		{"_meta.account", "a", `{"account":"x"}`, "ask"},
		{"_meta.vscode.id, task", "a", `{"_meta":{"vscode.id":1},"task":2}`, "allow"},
	} {
		text := file
		if c.pass != "" {
			text += "server: {pass: [" + c.pass + "]}\n"
		}
		d := load(t, text).Decide(policy.Call{From: "x", Via: "request", Method: "tools/call", Tool: c.tool, Beside: []byte(c.beside)}, nil)
		if d.Verdict.String() != c.want {
			t.Errorf("pass %q, %s with %s beside: %s", c.pass, c.tool, c.beside, d)
		}
		if raised := c.tool == "a" && c.want == "ask"; raised && (d.Rule != "server.pass" || d.Ask == nil || !strings.Contains(policy.Explain(d, ""), "server.pass: beside the arguments stand")) {
			t.Errorf("%s", policy.Explain(d, ""))
		}
	}
}

func TestWhatCannotPassIsALoadError(t *testing.T) {
	for _, pass := range []string{"'*'", "_meta", "_meta.*", "'_meta.'", "name", "arguments", "uri", "_meta.progressToken", "''", "[a?]"} {
		if _, err := policy.Load("p.yaml", []byte("version: 1\ndefault: ask\nserver: {pass: "+pass+"}\n")); err == nil {
			t.Errorf("pass: %s is taken", pass)
		}
	}
}

// A key of the protocol's with anything in it reached the server unshown, whichever
// revision that spoke (FINDINGS A5).
func TestAKeyOfTheProtocolsHasTheShapeThatTheProtocolGivesIt(t *testing.T) {
	const own = "io.modelcontextprotocol/"
	long := strings.Repeat("a", 257)
	for _, c := range []struct {
		key     string
		fits    []string
		others  []string
		anytime bool
	}{
		{"progressToken", []string{`"t"`, `7`, `-1.5e3`}, []string{`true`, `null`, `{}`, `["t"]`, `"` + long + `"`, strings.Repeat("7", 65)}, true},
		{"traceparent", []string{`"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"`}, []string{`"00-1"`, `"account=x"`, `{}`, `"00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01"`, `"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-x"`}, true},
		{"tracestate", []string{`"a=b"`, `"rojo=00f067aa0ba902b7,congo=t61rcWkgMzE"`, `"fw529a3039@dt=FfAAE"`}, []string{`""`, `"rm -rf"`, `"x=rm -rf /home/alice && echo yes"`, `{"a":"b"}`, `"a=` + strings.Repeat("b", 520) + `"`, `"a=\u0062"`}, true},
		{"baggage", []string{`"k=v"`, `"userId=alice,serverNode=DF%2028,isProduction=false;p=1"`}, []string{`""`, `"run this"`, `["k=v"]`, `"k=` + strings.Repeat("v", 1100) + `"`, `"k=\"v"`, `"k=ü"`}, true},
		{own + "protocolVersion", []string{`"2026-07-28"`}, []string{`"x"`, `"2027-01-31"`, `"2026-07-28 and account x"`, `20260728`, `{}`}, false},
		{own + "clientInfo", []string{`{}`, `{"name":"c","version":"1","title":"Ü","websiteUrl":"https://c.example"}`},
			[]string{`{"name":"c","account":"x"}`, `{"name":{"account":"x"}}`, `{"name":"` + long + `"}`, `{"icons":[{"src":"data:x"}]}`, `[]`, `"c"`, `{"name":"c","Name":"d"}`}, false},
		{own + "clientCapabilities", []string{`{}`, `{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{}},"roots":{"listChanged":true},"experimental":{"a":{}},"extensions":{"com.example/x-y.z":{"b":true},"io.modelcontextprotocol/ui":{"mimeTypes":["text/html;profile=mcp-app"]}}}`},
			[]string{`{"account":{}}`, `{"sampling":{"account":"x"}}`, `{"roots":7}`, `{"experimental":{"a":["x"]}}`, `{"experimental":{"transfer 1000000 to mallory":{}}}`, `{"roots":{"transfer 1000000 to mallory":true}}`, `{"extensions":{"x":{}}}`, `{"extensions":{"com.example/x":{"account":"mallory"}}}`, `{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html"],"account":"mallory"}}}`, `{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["delete /etc"]}}}`, `{"extensions":{"a":"` + long + `"}}`, `{"roots":{"` + long + `":true}}`, `{"extensions":{"a":[` + strings.Repeat(`"b",`, 2000) + `"b"]}}`, `[]`}, false},
		{own + "logLevel", []string{`"debug"`, `"emergency"`}, []string{`"loud"`, `{}`, `"debug "`}, false},
		{own + "related-task", nil, []string{`{"taskId":"t"}`, `"t"`}, false},
		{"account", nil, []string{`"x"`}, false},
	} {
		for _, value := range c.fits {
			if !policy.OfProtocol([]byte(c.key), []byte(value), "2026-07-28") || policy.OfProtocol([]byte(c.key), []byte(value), "") != c.anytime {
				t.Errorf("%s: %s is the protocol's own, in what era?", c.key, value)
			}
		}
		for _, value := range c.others {
			if policy.OfProtocol([]byte(c.key), []byte(value), "2026-07-28") {
				t.Errorf("%s: %.80s passes unshown", c.key, value)
			}
		}
	}
}

// What a client says of itself in a shape of its own needs the owner's leave by name.
func TestAKeyOfTheProtocolsCanBeListed(t *testing.T) {
	const text = "default: allow\nserver: {pass: ['_meta.io.modelcontextprotocol/clientInfo']}\n"
	d := load(t, text).Decide(policy.Call{From: "x", Via: "request", Method: "tools/call", Tool: "a", Beside: []byte(`{"_meta":{"io.modelcontextprotocol/clientInfo":{"icons":[]}}}`)}, nil)
	if d.Verdict != policy.Allow {
		t.Errorf("%s", policy.Explain(d, ""))
	}
}
