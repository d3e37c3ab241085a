package stdio

import (
	"slices"
	"strings"
	"testing"
)

func TestTheLineThatTellsWhyIsQuoted(t *testing.T) {
	for _, test := range []struct{ said, want string }{
		{"", ""},
		{"one|two|three|four", "two|three|four"}, // nobody knows
		{"Server starting|Error: missing API_KEY|at foo (error.js:1)|at bar (x.js:2)|Node.js v20", "Error: missing API_KEY"},
		{"node:internal/modules/cjs/loader:1228|throw err;|^|Error: Cannot find module '/x/y.js'|at Module._resolve (node:internal)|code: 'MODULE_NOT_FOUND',|}|Node.js v20.1",
			"Error: Cannot find module '/x/y.js'"},
		{"Traceback (most recent call last):|File \"x.py\", line 1, in <module>|import nothing|ModuleNotFoundError: No module named 'nothing'", "ModuleNotFoundError: No module named 'nothing'"},
		{"Traceback (most recent call last):|File \"/failover/x.py\", line 1, in fatal|import nothing|ModuleNotFoundError: no nothing", "ModuleNotFoundError: no nothing"},
		{"npm error code E404|npm error 404 Not Found - GET https://registry/x - Not found|npm error 404|npm error A complete log of this run can be found in: /l", "npm error 404 Not Found - GET https://registry/x - Not found"},
		{"sh: 1: notes-server: not found", "sh: 1: notes-server: not found"},
		{"Error: a|Error: a|Error: b|Error: c|Error: d", "Error: a|Error: b|Error: c"},
	} {
		var said []string
		if test.said != "" {
			said = strings.Split(test.said, "|")
		}
		if got := strings.Join(whyOf(slices.Clone(said)), "|"); got != test.want {
			t.Errorf("of %q it quotes %q, want %q", test.said, got, test.want)
		}
	}
}
