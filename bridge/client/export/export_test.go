package export_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/client"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/client/export"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/desktop"
)

func pairOf(t client.Tool) desktop.Pair { return desktop.Pair{Peer: t.Peer, Name: t.Name} }

func someTool(peer, name, more string) client.Tool {
	raw := fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object"}%s}`, name, more)
	return client.Tool{Peer: peer, Name: name, InputSchema: json.RawMessage(`{"type":"object"}`), Raw: json.RawMessage(raw)}
}

// What was exported had no way back (FINDINGS S10): every name leads to its tool, however
// it had to be written, and in whatever order the others are heard.
func TestEveryExportedNameLeadsToItsTool(t *testing.T) {
	long := strings.Repeat("long_", 20)
	all := []client.Tool{someTool("fs", "read", ""), someTool("fs", "a__b", ""), someTool("fs__a", "b", ""), someTool("a.b", "read", ""), someTool("a_b", "read", ""),
		someTool("fs", long, ""), someTool("mcpx", "call", ""), someTool(long, "x", ""), someTool("fs", "ü/x", "")}
	for i, e := range export.Tools(all) {
		if len(e.Name) > desktop.UsualName {
			t.Errorf("%s is too long", e.Name)
		}
		got, err := export.Named(append(all[i:len(all):len(all)], all[:i]...), e.Name)
		if err != nil || pairOf(got) != pairOf(all[i]) {
			t.Errorf("%s leads to %v %v", e.Name, pairOf(got), err)
		}
		if !strings.Contains(e.Name, "__") { // by which call takes it for a name
			t.Errorf("%s is not taken for a name", e.Name)
		}
	}
	for _, name := range []string{"fs__reed", "fs__", "__read", "fs__a__c"} {
		if got, err := export.Named(all, name); err == nil {
			t.Errorf("%s leads to %v", name, pairOf(got))
		}
	}
}

// serve names tools in as many bytes as its client is told (--max-name), and a name that it
// had in more or fewer than 46 was nobody's to call.
func TestANameOfAnotherLengthLedToNoTool(t *testing.T) {
	long := strings.Repeat("long_", 20)
	var all []client.Tool
	for _, p := range []desktop.Pair{{Peer: "fs", Name: "read_the_text_of_several_files_at_once_and_slowly"}, {Peer: strings.Repeat("p", 64), Name: "x"},
		{Peer: "fs", Name: long}, {Peer: "fs", Name: long + "er"}, {Peer: "a.b", Name: "read"}, {Peer: "a_b", Name: "read"}, {Peer: "fs", Name: "a__b"}, {Peer: "fs__a", Name: "b"}} {
		all = append(all, someTool(p.Peer, p.Name, ""))
	}
	for most := desktop.LeastName; most <= desktop.MaxName; most++ {
		names := desktop.NewNames(most)
		for _, want := range all {
			name := names.Of(pairOf(want))
			if got, err := export.Named(all, name); err != nil || pairOf(got) != pairOf(want) {
				t.Errorf("in %d bytes %s leads to %v %v", most, name, pairOf(got), err)
			}
		}
	}
	if got, err := export.Named(all, all[1].Peer+"__x"); err != nil || pairOf(got) != pairOf(all[1]) {
		t.Errorf("the whole name leads to %v %v", pairOf(got), err)
	}
	for _, name := range []string{"fs__read_the_text_of_several_files_at_once_and", strings.Repeat("p", 63) + "__x", "fs__long_0123abcd"} {
		if got, err := export.Named(all, name); err == nil {
			t.Errorf("%s leads to %v", name, pairOf(got))
		}
	}
}

// Who makes a digest that is another's has neither called.
func TestANameThatFitsTwoToolsCallsNeither(t *testing.T) {
	// Found by going through all such names, which takes seconds.
	first, second := "......//..///../././", "....//.///../././../"
	name := desktop.Pair{Peer: "fs", Name: first}.Export(desktop.UsualName)
	if other := (desktop.Pair{Peer: "fs", Name: second}).Export(desktop.UsualName); other != name || first == second {
		t.Fatalf("%s and %s are two names: look for others that are one", name, other)
	}
	all := []client.Tool{someTool("fs", first, ""), someTool("fs", second, "")}
	if got, err := export.Named(all, name); err == nil {
		t.Errorf("%s leads to %q", name, got.Name)
	}
	if got, err := export.Named(all[1:], name); err != nil || got.Name != second {
		t.Errorf("alone it leads to %q %v", got.Name, err)
	}
}
