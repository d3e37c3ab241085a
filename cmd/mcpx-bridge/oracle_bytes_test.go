package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Arguments that lesser bridges change on the way: unknown members, the order
// of keys, numbers beyond 2^53 and their spelling, characters that encoders
// like to escape, escapes that decoders like to undo, and white space.
var theArguments = []string{
	`{"path":"/a","zz":1,"aa":{"b":2,"a":1},"n":9007199254740993,"f":1.0,"e":1E+2,"neg":-0}`,
	`{"html":"<script>&amp;</script>","sep":"` + "\u2028\u2029" + `","esc":"\u2028\u003c\/","bom":"` + "\ufeff" + `"}`,
	`{"emoji":"🚀","pair":"\ud83d\ude80","nul":"\u0000","path":"C:\\x\"y"}`,
	`{ "spaced" : [ 1 , 2 ,  { } ] , "empty" : { } , "t" : true , "n" : null }`,
	`{"name":"echo","_meta":{"progressToken":"not ours either"}}`,
	`{"big":"` + strings.Repeat("0123456789abcdef", 6<<10) + `"}`, // 96 KiB
}

// passesLater is a policy under which a member that the owner lists stands beside the
// arguments of what --allow names.
func passesLater(t *testing.T) []string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "later.yaml")
	if err := os.WriteFile(file, []byte("version: 1\ndefault: deny\nserver: {pass: [later]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{"--policy", file}
}

// asOneLine is a text as the server is given it.
var asOneLine = strings.NewReplacer("\u2028", `\u2028`, "\u2029", `\u2029`)

// The params that were judged are what the server reads, byte for byte, but for the
// two characters at which some servers break a line (FINDINGS L6); nothing that
// stands beside them reaches it (H4).
func TestBytesArriveAsTheyWereSent(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, d tongue) {
		g, s := perform(t, d, launch{rules: append(passesLater(t), openRules...)})
		for i, arguments := range theArguments {
			env := fmt.Sprintf("b%d", i)
			params := fmt.Sprintf(`{"later":{"z":1.0},"arguments":%s,"name":"echo"}`, arguments)
			g.request(env, "bob", `{"params":`+params+`,"method":"tools/call","unknown":[9007199254740993],"id":1.0,"jsonrpc":"2.0"}`)
			frame := g.expect(d.reply("bob", env, "tools/call", "echo", `{"id":1.0,"result":"*"}`))
			given := s.given("tools/call")
			line := given[len(given)-1]
			params = asOneLine.Replace(params)
			if !strings.Contains(line, `"params":`+params) || strings.Contains(line, `"unknown"`) {
				t.Errorf("the server was given\n%s\ninstead of\n%s", cut(line), cut(params))
			}
			if !strings.Contains(frame, `"structuredContent":{"params":`+params+`}`) {
				t.Errorf("the caller got\n%s\ninstead of\n%s", cut(frame), cut(params))
			}
		}
	})
}

// The frames here are looked at as text: to read them as JSON over and over
// would take longer than the bridge does.
func TestEightMebibytesCrossBothWays(t *testing.T) {
	t.Parallel()
	path := strings.Repeat("<&>\u2028é/", 8<<20/9) + "end"
	for _, d := range []tongue{d0, d1, mew4} {
		t.Run(d.name, func(t *testing.T) {
			g, s := perform(t, d, launch{})
			kind := d.kind("request", "tools/call", "read_file")
			g.send(d.frame("big", "bob", "fs", kind, "", call(`"8"`, "read_file", `{"path":"`+path+`"}`)))
			frame := <-g.at.frames
			if !strings.Contains(frame, `"contents of `+path+`"`) || !strings.Contains(frame, `"id":"8"`) {
				g.fail("%d bytes came back, changed", len(frame))
			}
			if given := recorded(s.record); strings.Count(given, `"arguments":{"path":"`+asOneLine.Replace(path)+`"}`) != 1 {
				t.Errorf("the server was given %d bytes, but not the path", len(given))
			}
		})
	}
}

// What no schema foresees in an answer passes too.
func TestAnswersOfAnUnknownShapePass(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, d tongue) {
		g, _ := perform(t, d, launch{rules: openRules})
		g.request("x", "bob", call("1", "exotic", `{}`))
		frame := g.expect(d.reply("bob", "x", "tools/call", "exotic", `{"id":1,"result":"*"}`))
		if want := `{"content":[{"type":"hologram","x":9007199254740993,"<&>":"\u2028"}],"later":{"b":1,"a":1.0}}`; !strings.Contains(frame, want) {
			t.Errorf("the caller got\n%s\ninstead of\n%s", frame, want)
		}
	})
}
