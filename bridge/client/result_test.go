package client_test

import (
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/client"
)

func TestResultsAsPeopleReadThem(t *testing.T) {
	for raw, want := range map[string]string{
		`{"content":[{"type":"text","text":"a\u001b[2J\n"},{"type":"image","mimeType":"image/png","data":"AAAA"}]}`:                          "a\\u{1b}[2J\n[image image/png, 3 bytes]\n",
		`{"content":[{"type":"resource","resource":{"uri":"x:y","text":"z"}},{"type":"resource_link","uri":"u","name":"n"},{"type":"new"}]}`: "[resource x:y]\nz\n[resource u n]\n[new]\n",
		`{"content":[],"structuredContent":{"a":
1}}`: "{\"a\": 1}\n",
		`"a word"`: "a word\n", `7`: "7\n", `{}`: "", `null`: "", `{"a":1}`: "{\"a\":1}\n",
	} {
		r, _ := client.ReadResult([]byte(raw))
		if got := string(r.Text()); got != want {
			t.Errorf("%s: %q, want %q", raw, got, want)
		}
	}
}

// A server that speaks of an approval is no bridge: its words stand behind its name.
func TestProgressSaysWhoseWordsItIs(t *testing.T) {
	for params, want := range map[string]string{
		`{"progress":1,"total":2}`:                                      "fs: 1/2",
		`{"progress":1,"message":"approved"}`:                           "fs: approved",
		`{"progress":0,"message":"asked","_meta":{"mcpx/approval":{}}}`: "asked",
		`{"progress":0.000000004,"total":3}`:                            "fs: 0/3",
		`[]`:                                                            "",
	} {
		if got := client.ProgressLine("fs", []byte(params)); got != want {
			t.Errorf("%s: %q, want %q", params, got, want)
		}
	}
}
