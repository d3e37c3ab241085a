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
