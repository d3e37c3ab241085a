package doctor_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/client"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/desktop"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/doctor"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/fault"
	"github.com/mcpx-protocol/mcpx-bridge/stdio"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/stdiotest"
)

// A second opinion is worth something if it differs: what no client takes is no server.
func TestAStockClientTellsWhatItCannotUse(t *testing.T) {
	for script, want := range map[string]string{
		`{}`: "",
		`{"Initialize":"refuse","Discover":"refuse"}`:   "initialize: ",
		`{"Revision":"2024-11-05"}`:                     "initialize: it is answered in MCP 2024-11-05",
		`{"Tools":["{\"name\":7}"]}`:                    "tools/list: ",
		`{"Tools":["{\"name\":\"x\",\"icons\":\"\"}"]}`: "tools/list: ",
	} {
		self, _ := os.Executable()
		c := exec.Command(self, arguments(t, script)...)
		in, _ := c.StdinPipe()
		out, _ := c.StdoutPipe()
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		tools, err := doctor.List(t.Context(), mcp.LATEST_LEGACY_PROTOCOL_VERSION, "test", out, in)
		if want == "" && (err != nil || len(tools) == 0) || want != "" && (err == nil || !strings.HasPrefix(err.Error(), want)) {
			t.Errorf("%s: %d tools, %v", script, len(tools), err)
		}
		in.Close()
		c.Wait()
	}
}

// Who reads that a client cannot use what serve shows wants to know because of which tool.
func TestDoctorNamesTheToolThatClientsRefuse(t *testing.T) {
	broken := errors.New("it does not decode")
	all := []client.Tool{{Name: "fine"}, {Name: "odd"}}
	for hint, fails := range map[string]func(some []client.Tool) bool{
		"*/odd' leaves it out": func(some []client.Tool) bool { return len(some) == 1 && some[0].Name == "odd" },
		"policy check":         func([]client.Tool) bool { return false },
		"please report it":     func(some []client.Tool) bool { return true },
	} {
		err := doctor.Blame(broken, all, func(some []client.Tool) error {
			if fails(some) {
				return broken
			}
			return nil
		})
		known, ok := errors.AsType[*fault.Error](err)
		if !ok || err.Error() != "a stock MCP client cannot use what serve shows: it does not decode" || !strings.Contains(strings.Join(known.Hint, " "), hint) {
			t.Errorf("%v: %+v", err, known)
		}
	}
}

// arguments are those with which this binary plays the server of a script.
func arguments(t *testing.T, script string) []string {
	t.Helper()
	var s stdiotest.Script
	if err := json.Unmarshal([]byte(script), &s); err != nil {
		t.Fatal(err)
	}
	return stdiotest.Command(t, s)[1:]
}

// A server is started, asked for its tools and stopped, and nothing is left of it.
func TestACheckupListsTheToolsOfAServerAndStopsIt(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := doctor.NewCheckup(stdio.Options{Args: append([]string{self}, arguments(t, `{}`)...), StartTimeout: time.Minute})
	if err := c.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	hello, up := c.Hello()
	tools, err := c.Tools()
	if hello == nil || up.IsZero() || err != nil || len(tools) == 0 || c.Noisy() != nil || c.Left() != nil {
		t.Errorf("%v at %v, %d tools, %v, %v, %v", hello, up, len(tools), err, c.Noisy(), c.Left())
	}
	detail, notes, err := doctor.Clients(t.Context(), desktop.Config{Version: "test", NewID: func() string { return "x" }, Patience: time.Minute, MaxName: desktop.UsualName}, "fs", tools)
	if err != nil || !strings.HasPrefix(detail, "a stock MCP client initialises against serve and lists ") || len(notes) > 0 {
		t.Errorf("%s %q %v", detail, notes, err)
	}
}

func TestWhatCannotBeStartedIsAStartError(t *testing.T) {
	c := doctor.NewCheckup(stdio.Options{Args: []string{"./no-such-server"}, StartTimeout: time.Minute})
	err := c.Run(t.Context())
	if _, ok := errors.AsType[*stdio.StartError](err); !ok {
		t.Errorf("%v", err)
	}
	if hello, _ := c.Hello(); hello != nil {
		t.Errorf("it came up: %v", hello)
	}
}

func TestAFindingIsOneLineAndItsHints(t *testing.T) {
	f := doctor.FindingOf("seat", "here", fault.New(fault.Gateway, "start it", "it is gone\x1b"), "odd")
	if want := "FAIL  seat      it is gone\\u{1b}\n                hint: start it\n                warning: odd\n"; string(f.Words()) != want {
		t.Errorf("%s", f.Words())
	}
}
