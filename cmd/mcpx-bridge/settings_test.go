package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/help"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/localgateway"
)

func TestTheServersEnvironment(t *testing.T) {
	ours := []string{"PATH=/bin", "MCPX_AUTH_TOKEN=secret", "mcpx_other=x", "A=1=2", "B=2"}
	for _, c := range []struct {
		clean     bool
		pass, env []string
		want      string // "" is an error
	}{
		{want: "PATH=/bin A=1=2 B=2"},
		{env: []string{"B=3", "C="}, want: "PATH=/bin A=1=2 B=3 C="},
		{env: []string{"MCPX_MINE=1"}, want: "PATH=/bin A=1=2 B=2 MCPX_MINE=1"},
		{clean: true, env: []string{"C=1"}, want: "C=1"},
		{clean: true, pass: []string{"A", "NONE"}, want: "A=1=2"},
		{clean: true, pass: []string{"MCPX_AUTH_TOKEN"}},
		{pass: []string{"A"}},
		{env: []string{"NOVALUE"}},
		{env: []string{"=x"}},
		{env: []string{"A=\x00"}},
	} {
		p := &program{env: env{environ: func() []string { return ours }}, s: settings{EnvClean: c.clean, EnvPass: c.pass, Env: c.env}}
		got, err := p.environment().Whole()
		if strings.Join(got, " ") != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%+v: %q %v", c, got, err)
		}
	}
	p := &program{env: env{environ: func() []string { return ours }}, s: settings{EnvClean: true}}
	if got, err := p.environment().Whole(); got == nil || len(got) > 0 || err != nil {
		t.Errorf("a clean environment: %#v %v, want an empty one that is not nil", got, err)
	}
}

func TestAddressesThatOthersReach(t *testing.T) {
	for listen, want := range map[string]bool{
		"127.0.0.1:1": false, "localhost:1": false, "[::1]:1": false, "127.1.2.3:1": false,
		":1": true, "0.0.0.0:1": true, "[::]:1": true, "192.168.1.5:1": true, "example.com:1": true, "localhost.example.com:1": true,
	} {
		if got := localgateway.OffLoopback(listen); got != want {
			t.Errorf("%s: %v", listen, got)
		}
	}
}

func TestPace(t *testing.T) {
	for text, want := range map[string]int{"": 0, "50/min": 50, "7": 7} {
		if n, err := parsePace(text); n != want || err != nil {
			t.Errorf("%q: %d %v", text, n, err)
		}
	}
	for _, text := range []string{"0", "-1/min", "fast", "50/s"} {
		if _, err := parsePace(text); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
}

// A variable that the shell does not know must not take a check, or a rule, away.
func TestAFlagIsNotSetToNothing(t *testing.T) {
	config := t.TempDir() + "/config.yaml"
	if err := os.WriteFile(config, []byte("policy: ''\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	refuses(t, "is empty", [][]string{{"run", "--policy", "", "--", "x"}, {"run", "--config", config, "--", "x"}, {"run", "--cwd=", "--", "x"}, {"run", "--approver", "alice", "--approver", "", "--", "x"},
		{"approvals", "allow", "3f2a", "--digest", ""}, {"approvals", "allow", "3f2a", "--delegate-to", ""}, {"approvals", "allow", "3f2a", "--remember", ""},
		{"serve", "--exclude", ""}, {"approve", "--id", ""}, {"audit", "show", "fs", "--event", ""}})
	refuses(t, "must be more than 0", [][]string{{"run", "--within", "0s", "--", "x"}, {"run", "--max-calls", "0", "--", "x"}, {"run", "--max-pending", "0", "--", "x"}, {"run", "--max-pending", "-1", "--", "x"}, {"call", "fs", "x", "--timeout", "0"}, {"serve", "--limit", "0"}})
}

// Nobody starts a bridge whose questions nobody can answer.
func TestAnswersAtATerminalNeedATerminal(t *testing.T) {
	refuses(t, "there is no terminal here", [][]string{{"run", "--answers", "terminal", "--", "x"}, {"run", "--stdio", "--answers", "terminal", "--", "x"}})
	refuses(t, "is no place to answer", [][]string{{"run", "--answers", "page", "--", "x"}, {"attach", "--answers", "page", "unix:/x"}})
}

func TestApproversWhoWouldNeverBeAsked(t *testing.T) {
	refuses(t, "is this bridge itself", [][]string{{"run", "--id", "fs", "--approver", "fs", "--", "x"}, {"run", "--approver", "srv", "--", "srv"}})
	refuses(t, "host is the person behind the client", [][]string{{"run", "--approver", "host", "--", "x"}, {"run", "--stdio", "--approver", "host", "--", "x"}})
}

// refuses runs command lines that are misuse, each for the same reason.
func refuses(t *testing.T, words string, all [][]string) {
	t.Helper()
	for _, args := range all {
		var out, errs bytes.Buffer
		code := run(t.Context(), args, env{stdin: strings.NewReader(""), stdout: &out, stderr: &errs,
			getenv: func(string) string { return "" }, environ: func() []string { return nil }})
		if code != exitMisused || out.Len() > 0 || !strings.Contains(errs.String(), words) {
			t.Errorf("%q: exit %d, %s%s", args, code, &out, &errs)
		}
	}
}

// Some gateways read a token nowhere but in the URL, which others write into their logs.
func TestATokenIsInTheURLOnlyIfThatIsAskedFor(t *testing.T) {
	const token = "planted-secret"
	for _, asked := range []bool{false, true} {
		t.Run(strconv.FormatBool(asked), func(t *testing.T) {
			urls := make(chan string, 8)
			gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				select {
				case urls <- r.URL.Query().Get("token"):
				default:
				}
				http.Error(w, "not you", http.StatusForbidden)
			}))
			defer gateway.Close()
			args := []string{"who", "--gateway", "ws" + strings.TrimPrefix(gateway.URL, "http") + "/ws", "--log-level", "debug"}
			if asked {
				args = append(args, "--token-in-query")
			}
			said := newDiary()
			code := run(t.Context(), args, env{stdout: newDiary(), stderr: said, getenv: launch{env: map[string]string{"MCPX_AUTH_TOKEN": token}}.getenv(t), environ: func() []string { return nil }})
			if got := <-urls; code != exitGateway || (got == token) != asked || strings.Contains(said.text(), token) {
				t.Errorf("exit %d, the URL has %q, and what is said is\n%s", code, got, said.text())
			}
		})
	}
}

// A flag that no test sets may do anything, or nothing.
func TestEveryFlagIsSetBySomeTest(t *testing.T) {
	var tests []byte
	for _, pattern := range []string{"*_test.go", "testdata/*.txtar"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			tests = append(tests, text...)
		}
	}
	for name := range help.Settings((&program{}).root()) {
		if !regexp.MustCompile(`--` + name + `[^-a-z]`).Match(tests) {
			t.Errorf("no test sets --%s", name)
		}
	}
}
