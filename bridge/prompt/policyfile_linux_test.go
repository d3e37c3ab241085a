package prompt_test

import (
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/inboxtest"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/prompt"
)

// changedFile is what the engine asks about a policy file that may let more through.
func changedFile() approval.Question {
	q := inboxtest.Write(`{"file":"/srv/policy.yaml","looser":["rule reads: allows \"write_file\" too, which was asked about","the default is allow now"],"sha256":"` + strings.Repeat("0f", 32) + `"}`)
	q.Caller, q.Method, q.Tool, q.AboutPolicy = approval.PolicyFile, approval.PolicyReload, "", true
	q.Terms.Within, q.Terms.Rules, q.Terms.Remember = 24*time.Hour, nil, []string{"once"}
	return q
}

// Whether a changed policy file counts read like a call of a method by a caller.
func TestAChangedPolicyFileIsAskedAboutInWords(t *testing.T) {
	for _, columns := range []int{80, 40} {
		h, dir := hallIn(t, "fs")
		id := h.Ask(changedFile())
		s := sit(t, dir, prompt.Options{Resident: true}, columns, 30)
		s.saysAll("The policy file was changed. Shall it count? What may let more through, or tell people less:"+
			` - rule reads: allows "write_file" too, which was asked about - the default is allow now`+
			" Until you say yes, the rules from before hold; what is tighter in the file waits too. File /srv/policy.yaml SHA-256 0f0f",
			"0f Waiting for you Bridge fs", "a allow d deny")
		for _, not := range []string{"policy/reload", "Method", "Caller", "looser", "requests permission", "remember"} {
			s.Misses(not)
		}
		s.Types("a")
		s.saysAll("let the changed file count? type " + s.short(h, id)[:2] + "; any other key goes back")
		s.Types(s.short(h, id)[:2])
		if got := h.Next(t); got.Outcome != approval.Allowed {
			t.Errorf("settled as %+v", got)
		}
		s.saysAll("the changed policy file on fs in lobby [", "]: allowed by you")
	}
}

// A file that waits a day stood before calls that wait for minutes.
func TestAChangedPolicyFileStandsBehindTheCalls(t *testing.T) {
	h, dir := hallIn(t, "fs")
	file := h.Ask(changedFile())
	h.Ask(inboxtest.Write(`{"n":1}`))
	s := sit(t, dir, prompt.Options{}, 80, 24)
	s.Sees("d deny", "/n = 1", "1 of 2")
	s.Types("l")
	s.Sees("> write_file for agent-a on fs in lobby [")
	s.Sees("\n  the changed policy file on fs in lobby [")
	s.Types("\r")
	s.Sees("1 of 2")
	h.Abort(file, "replaced")
	s.Sees("]: the file was changed again")
}
