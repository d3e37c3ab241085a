package main

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
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
		c := exec.Command(self, stdiotestArgs(script)...)
		in, _ := c.StdinPipe()
		out, _ := c.StdoutPipe()
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		tools, err := stockClient(t.Context(), mcp.LATEST_LEGACY_PROTOCOL_VERSION, out, in)
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
	all := []tool{{Name: "fine"}, {Name: "odd"}}
	for hint, fails := range map[string]func(some []tool) bool{
		"*/odd' leaves it out": func(some []tool) bool { return len(some) == 1 && some[0].Name == "odd" },
		"policy check":         func([]tool) bool { return false },
		"please report it":     func(some []tool) bool { return true },
	} {
		err := refusedByClients(broken, all, func(some []tool) error {
			if fails(some) {
				return broken
			}
			return nil
		})
		known, ok := errors.AsType[*failure](err)
		if !ok || err.Error() != "a stock MCP client cannot use what serve shows: it does not decode" || !strings.Contains(strings.Join(known.Hint, " "), hint) {
			t.Errorf("%v: %+v", err, known)
		}
	}
}
