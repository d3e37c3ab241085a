package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/desktop"
)

func someTool(peer, name, more string) tool {
	raw := fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object"}%s}`, name, more)
	return tool{Peer: peer, Name: name, InputSchema: json.RawMessage(`{"type":"object"}`), Raw: json.RawMessage(raw)}
}

// What was exported had no way back (FINDINGS S10): every name leads to its tool, however
// it had to be written, and in whatever order the others are heard.
func TestEveryExportedNameLeadsToItsTool(t *testing.T) {
	long := strings.Repeat("long_", 20)
	all := []tool{someTool("fs", "read", ""), someTool("fs", "a__b", ""), someTool("fs__a", "b", ""), someTool("a.b", "read", ""), someTool("a_b", "read", ""),
		someTool("fs", long, ""), someTool("mcpx", "call", ""), someTool(long, "x", ""), someTool("fs", "ü/x", "")}
	for i, e := range exported(all) {
		if len(e.Name) > desktop.UsualName {
			t.Errorf("%s is too long", e.Name)
		}
		got, err := toolNamed(append(all[i:len(all):len(all)], all[:i]...), e.Name)
		if err != nil || pairOf(got) != pairOf(all[i]) {
			t.Errorf("%s leads to %v %v", e.Name, pairOf(got), err)
		}
		if name, _, ok := exportedWords([]string{e.Name, `"{}"`}); !ok || name != e.Name {
			t.Errorf("%s is not taken for a name", e.Name)
		}
	}
	for _, name := range []string{"fs__reed", "fs__", "__read", "fs__a__c"} {
		if got, err := toolNamed(all, name); err == nil {
			t.Errorf("%s leads to %v", name, pairOf(got))
		}
	}
}

// serve names tools in as many bytes as its client is told (--max-name), and a name that it
// had in more or fewer than 46 was nobody's to call.
func TestANameOfAnotherLengthLedToNoTool(t *testing.T) {
	long := strings.Repeat("long_", 20)
	var all []tool
	for _, p := range []desktop.Pair{{Peer: "fs", Name: "read_the_text_of_several_files_at_once_and_slowly"}, {Peer: strings.Repeat("p", 64), Name: "x"},
		{Peer: "fs", Name: long}, {Peer: "fs", Name: long + "er"}, {Peer: "a.b", Name: "read"}, {Peer: "a_b", Name: "read"}, {Peer: "fs", Name: "a__b"}, {Peer: "fs__a", Name: "b"}} {
		all = append(all, someTool(p.Peer, p.Name, ""))
	}
	for most := desktop.LeastName; most <= desktop.MaxName; most++ {
		names := desktop.NewNames(most)
		for _, want := range all {
			name := names.Of(pairOf(want))
			if got, err := toolNamed(all, name); err != nil || pairOf(got) != pairOf(want) {
				t.Errorf("in %d bytes %s leads to %v %v", most, name, pairOf(got), err)
			}
		}
	}
	if got, err := toolNamed(all, all[1].Peer+"__x"); err != nil || pairOf(got) != pairOf(all[1]) {
		t.Errorf("the whole name leads to %v %v", pairOf(got), err)
	}
	for _, name := range []string{"fs__read_the_text_of_several_files_at_once_and", strings.Repeat("p", 63) + "__x", "fs__long_0123abcd"} {
		if got, err := toolNamed(all, name); err == nil {
			t.Errorf("%s leads to %v", name, pairOf(got))
		}
	}
}

// Who makes a digest that is another's has neither called.
func TestANameThatFitsTwoToolsCallsNeither(t *testing.T) {
	names := map[string]string{}
	for i := 0; ; i++ {
		called := strings.NewReplacer("0", ".", "1", "/").Replace(fmt.Sprintf("%020b", i))
		name := desktop.Pair{Peer: "fs", Name: called}.Export(desktop.UsualName)
		if names[name] == "" {
			names[name] = called
			continue
		}
		all := []tool{someTool("fs", names[name], ""), someTool("fs", called, "")}
		if got, err := toolNamed(all, name); err == nil {
			t.Errorf("%s leads to %q", name, got.Name)
		}
		if got, err := toolNamed(all[1:], name); err != nil || got.Name != called {
			t.Errorf("alone it leads to %q %v", got.Name, err)
		}
		return
	}
}

// A tool for its app alone is no function of a model's (FINDINGS P17), and 150 functions
// came out without a word where the API takes 128 (S10).
func TestWhatIsLeftOutOfAListIsTold(t *testing.T) {
	var all []tool
	for i := range 150 {
		all = append(all, someTool(fmt.Sprintf("p%d", i%3), fmt.Sprintf("t%03d", i), ""))
	}
	all = append(all, someTool("p0", "refresh", `,"_meta":{"ui":{"visibility":["app"]}}`))
	for _, c := range []struct {
		s    settings
		n    int
		told string
	}{
		{settings{Format: "table"}, 151, ""},
		{settings{Format: "json"}, 151, ""},
		{settings{Format: "openai"}, 150, "mcpx-bridge: left out: 1 tool for apps and not for models\nmcpx-bridge: warning: these are 150 functions, and OpenAI's API takes 128\nmcpx-bridge: hint: --limit 128, --include and --exclude choose\n"},
		{settings{Format: "anthropic", Include: []string{"p0/*"}, Exclude: []string{"*/t00*"}}, 46, "mcpx-bridge: left out: 104 tools that --include and --exclude do not show\nmcpx-bridge: left out: 1 tool for apps and not for models\n"},
		{settings{Format: "openai", Limit: 128}, 128, "mcpx-bridge: left out: 1 tool for apps and not for models\nmcpx-bridge: left out: 22 tools over --limit: p2/t128, p0/t129, "},
		{settings{Format: "json", Limit: 2, Exclude: []string{"p2/*"}}, 2, "mcpx-bridge: left out: 50 tools that --include and --exclude do not show\nmcpx-bridge: left out: 99 tools over --limit: p0/t000"},
	} {
		var errs bytes.Buffer
		p := &program{s: c.s}
		p.log, _ = newLog(&errs, "info", "text")
		shown := p.chosen(all)
		if len(shown) != c.n || !strings.HasPrefix(errs.String(), c.told) || c.told == "" && errs.Len() > 0 {
			t.Errorf("%+v: %d are listed, and told %s", c.s, len(shown), &errs)
		}
	}
}
