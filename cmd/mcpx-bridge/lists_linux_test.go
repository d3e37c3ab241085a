package main

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/prompt/prompttest"
)

// What is listed fits the terminal that it is shown in, with the names in it whole.
func TestListsFitTheirTerminal(t *testing.T) {
	state, at80, at40 := t.TempDir(), prompttest.Open(t, 80, 24), prompttest.Open(t, 40, 24)
	server := slices.Concat([]string{os.Args[0]}, stdiotestArgs(`{"Tools":["{\"name\":\"read_file\",\"description\":\"Reads\\n a file, 日本語 too, `+strings.Repeat("and so on ", 30)+`\",\"inputSchema\":{\"type\":\"object\",\"properties\":{\"path\":{\"type\":\"string\"}},\"required\":[\"path\"]}}"]}`))
	log := prompttest.Open(t, 120, 24)
	at(t, log, state, slices.Concat([]string{"run", "--listen", "127.0.0.1:0", "--id", "fs", "--allow", "*", "--"}, server)...)
	log.Sees("fs serves")
	for _, c := range []struct {
		term *prompttest.Terminal
		args []string
		want string
	}{
		{at80, []string{"tools", "fs"}, "TOOL       FOR YOU  ARGUMENTS  DESCRIPTION\nread_file  allow    path       Reads a file, 日本語 too,"},
		{at80, []string{"tools", "fs", "--wide"}, "and so on and so on\n"},
		{at40, []string{"tools", "fs"}, "TOOL       FOR YOU  ARGUMENTS  DESCRIPT…\nread_file  allow    path       Reads a …\n"},
		{at40, []string{"who"}, "PARTICIPANT  SERVER\nfs           stdiotest 1\n"},
		{at80, []string{"audit", "show", "--event", "opened"}, "  opened      version=dev  server={\"name\""},
		{at40, []string{"audit", "show", "--verdict", "allow", "--all", "-n", "1"}, "  decided\n  allow tools/list for cli-"},
	} {
		if code := atTerminal(t, c.term, state, c.args...); code != exitDone {
			t.Errorf("%q exits %d", c.args, code)
		}
		c.term.Sees(c.want)
	}
	if said := log.String(); strings.Contains(said, "tools/list") || strings.Contains(said, "joined") {
		t.Errorf("the log has what nobody did, or who only looked in:\n%s", said)
	}
}

// atTerminal runs a command to its end, with a terminal for its output.
func atTerminal(t *testing.T, term *prompttest.Terminal, state string, args ...string) (code int) {
	return run(t.Context(), args, env{stdin: strings.NewReader(""), stdout: term.Slave, stderr: term.Slave,
		getenv: func(key string) string { return map[string]string{"XDG_STATE_HOME": state}[key] }, environ: func() []string { return nil }})
}
