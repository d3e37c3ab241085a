package stdiotest

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// talk plays the script with the lines as its whole stdin and returns what it
// wrote.
func talk(t *testing.T, s Script, lines ...string) string {
	t.Helper()
	argv := Command(t, s)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v; it wrote %s", err, out)
	}
	return string(out)
}

func called(name, arguments string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":"c","method":"tools/call","params":{"name":%q,"arguments":%s}}`, name, arguments)
}

func TestToolsAnswerAsDocumented(t *testing.T) {
	text := func(s string) string { return `"result":{"content":[{"type":"text","text":"` + s + `"}]}}` }
	tests := []struct{ name, arguments, want string }{
		{"read_file", `{"path":"/a"}`, text("contents of /a")},
		{"write_file", `{"path":"/a","content":"four"}`, text("wrote 4 bytes to /a")},
		{"write_file", `{"path":"/a","text":"four"}`, text("wrote 4 bytes to /a")},
		{"delete_file", `{"path":"/a"}`, text("deleted /a")},
		{"delete_all", `{}`, text("deleted everything")},
		{"deploy", `{"target":"staging"}`, text("deployed to staging")},
		{"echo", `{"n":1.0}`, `"structuredContent":{"params":{"name":"echo","arguments":{"n":1.0}}}}`},
		{"exotic", `{}`, `"type":"hologram"`},
		{"big", `{"bytes":10}`, text("xxxxxxxxxx")},
		{"fail", `{}`, `"isError":true`},
		{"rpcerror", `{}`, `"error":{"code":-32050,"message":"custom failure","data":{"detail":{"n":9007199254740993,`},
		{"rpcerror", `{"code":-1,"message":"m","data":[1.0]}`, `"error":{"code":-1,"message":"m","data":[1.0]}`},
		{"notify", `{}`, `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` + "\n"},
		{"notify", `{"kind":"notifications/x","params":[1]}`, `{"jsonrpc":"2.0","method":"notifications/x","params":[1]}` + "\n"},
		{"flood", `{"n":3}`, `"flood 2"`},
		{"ask", `{"id":"q","method":"sampling/createMessage","params":{}}`, `{"jsonrpc":"2.0","id":"q","method":"sampling/createMessage","params":{}}`},
		{"raw", `{"text":"<$ID>"}`, `<"c">`},
		{"raw", `{"b64":"PCRJRD4="}`, `<"c">`},
		{"long", `{"bytes":5,"then":"$ID"}`, "xxxxx\n\"c\""},
		{"nonsense", `{}`, `"error":{"code":-32602,"message":"Unknown tool: nonsense"}`},
	}
	for _, test := range tests {
		if got := talk(t, Script{}, called(test.name, test.arguments)); !strings.Contains(got, test.want) {
			t.Errorf("%s %s answers %s, want %s", test.name, test.arguments, got, test.want)
		}
	}
}

func TestListedToolsAreJSONWithUniqueNames(t *testing.T) {
	var names []string
	listed := talk(t, Script{}, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	for _, text := range toolTexts {
		if !strings.Contains(listed, text) {
			t.Errorf("the server does not list %s", text)
		}
		var tool struct {
			Name        string
			InputSchema map[string]any
		}
		if err := json.Unmarshal([]byte(text), &tool); err != nil || tool.InputSchema == nil || slices.Contains(names, tool.Name) {
			t.Errorf("tool %s: %v", text, err)
		}
		names = append(names, tool.Name)
	}
	for name := range plays {
		if !slices.Contains(names, name) {
			t.Errorf("%s is not listed", name)
		}
	}
}

func TestGrownToolIsListedAndCalled(t *testing.T) {
	got := talk(t, Script{}, called("grow", `{"name":"extra"}`), `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, called("extra", `{}`))
	for _, want := range []string{`notifications/tools/list_changed`, `{"name":"extra",`, `"text":"grown"`} {
		if !strings.Contains(got, want) {
			t.Errorf("%s\nholds no %s", got, want)
		}
	}
}

func TestProgressCarriesTheTokenAsItCame(t *testing.T) {
	got := talk(t, Script{}, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"progress","arguments":{"n":2},"_meta":{"progressToken":"7"}}}`)
	want := `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"7","progress":2,"total":2}}`
	if !strings.Contains(got, want) {
		t.Errorf("%s\nholds no %s", got, want)
	}
}

func TestRecordHoldsEveryByte(t *testing.T) {
	record := filepath.Join(t.TempDir(), "in")
	lines := []string{`{"jsonrpc":"2.0","id":1.0,"method":"ping"} `, "", "no message", "\t{}"}
	talk(t, Script{Record: record}, lines...)
	if got := Recorded(t, record); !slices.Equal(got, lines) {
		t.Errorf("recorded %q, want %q", got, lines)
	}
}

func TestModernServerWantsItsMeta(t *testing.T) {
	list := `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{%s}}}`
	meta := `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}`
	if got := talk(t, Script{Era: "modern"}, fmt.Sprintf(list, "")); !strings.Contains(got, "-32602") {
		t.Errorf("without: %s", got)
	}
	if got := talk(t, Script{Era: "modern"}, fmt.Sprintf(list, meta)); !strings.Contains(got, `"resultType":"complete"`) {
		t.Errorf("with: %s", got)
	}
}

func TestMarkMakesTheSecondLaunchAnother(t *testing.T) {
	s := Script{Mark: filepath.Join(t.TempDir(), "mark"), Start: []string{"first"}, Then: &Script{Start: []string{"second"}}}
	if got := talk(t, s) + talk(t, s) + talk(t, s); got != "first\nsecond\nsecond\n" {
		t.Errorf("the launches wrote %q", got)
	}
}
