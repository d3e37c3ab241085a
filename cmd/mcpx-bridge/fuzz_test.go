package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/commandline"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// Whatever command starts a server, there is an id in it that a gateway takes.
func FuzzDeriveID(f *testing.F) {
	for _, line := range []string{"npx\n-y\n@modelcontextprotocol/server-filesystem\n/tmp", "sh\n-c\n", "docker\nrun\n-e\nA=b\nghcr.io/x/system:1", "uv\nrun\npython\n-m\n", "./.. ", "/", "é", "npx\n@", "python3\n" + strings.Repeat("x", 99) + ".py", "node\n../index.js", "mcp-server-", "İİİ-server"} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		if id := commandline.ID(strings.Split(line, "\n")); !wire.ValidID(id) || checkID("--id", id) != nil {
			t.Errorf("%q is called %q", line, id)
		}
	})
}

// A secret that is named as one is in no question.
func FuzzCommandLine(f *testing.F) {
	for _, value := range []string{"HUSH", "a b", "x\ny", "=:@/", "Bearer x", "'\"", "-x"} {
		f.Add("--api-key=", value)
		f.Add("DB_PASSWORD: ", value)
	}
	f.Fuzz(func(t *testing.T, name, value string) {
		const secret = "PlAnTeD"
		if !strings.HasSuffix(strings.TrimSpace(name), "=") && !strings.HasSuffix(strings.TrimSpace(name), ":") {
			return
		}
		if shown := commandline.Public([]string{"srv", name + "token=" + value + secret}); strings.Contains(shown, secret) {
			t.Errorf("%q: %s", value, shown)
		}
	})
}

var fuzzTarget = regexp.MustCompile(`(?m)^func (Fuzz\w+)`)

// Every target has inputs of its own that each run of the tests goes through.
func TestEveryFuzzTargetHasACorpus(t *testing.T) {
	for _, name := range files(t) {
		for _, target := range declared(t, name, fuzzTarget) {
			at := filepath.Join(filepath.Dir(name), "testdata", "fuzz", target)
			if inputs, _ := os.ReadDir(at); len(inputs) < 3 { // there may be no such directory
				t.Errorf("%s has %d inputs, in %s", target, len(inputs), at)
			}
		}
	}
}
