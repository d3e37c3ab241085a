package node

import (
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/stdio"
)

func TestEndpointsNameTheirServer(t *testing.T) {
	for text, want := range map[string]string{
		"unix:/run/mcp-server-notes.sock": "notes",
		"unix:notes":                      "notes",
		"tcp:127.0.0.1:9000":              "tcp-9000",
		"tcp:[::1]:9000":                  "tcp-9000",
		"tcp:localhost:9000":              "tcp-9000",
		"tcp:notes.example:9000":          "tcp-notes.example-9000",
		"fifo:/tmp/notes.out,/tmp/in":     "notes",
		"fd:3,4":                          "server",
		"-":                               "server",
	} {
		at, err := stdio.ParseEndpoint(text)
		if got := endpointID(at); err != nil || got != want {
			t.Errorf("%s is called %q (%v), want %q", text, got, err, want)
		}
		if told := (Target{At: at}).Program(); told != want {
			t.Errorf("the topic is told %s of %s, want %s", told, text, want)
		}
	}
}
