package plain_test

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record/plain"
)

// That a gateway returns our own request is no forgery, and nothing to be warned of.
func TestOurOwnRequestIsNoForgery(t *testing.T) {
	for detail, want := range map[string]slog.Level{record.OwnReturned: slog.LevelDebug, "an echo or a forgery of our own id": slog.LevelWarn} {
		if got := plain.Level(&record.Record{Event: record.Dropped, Reason: "from_self", Detail: detail}); got != want {
			t.Errorf("%s: %v", detail, got)
		}
	}
}

// Silence and a caller who gave up are no denial by anybody.
func TestNobodyDecidingIsNoDenial(t *testing.T) {
	for want, r := range map[string]record.Record{
		"nobody decided in time about x for bob":                                                       {Event: record.Decided, Verdict: "deny", Outcome: "expired", Tool: "x", From: "bob"},
		"withdrawn: x for bob, the caller took it back":                                                {Event: record.Decided, Verdict: "withdrawn", Outcome: "withdrawn", Tool: "x", From: "bob"},
		"withdrawn: x for bob, the bridge stopped":                                                     {Event: record.Decided, Verdict: "deny", Outcome: "aborted", Reason: "shutting_down", Tool: "x", From: "bob"},
		"withdrawn: x for bob, policy denied":                                                          {Event: record.Decided, Verdict: "deny", Outcome: "aborted", Reason: "policy_denied", Tool: "x", From: "bob"},
		"nobody could decide about x for bob (no_approver)":                                            {Event: record.Decided, Verdict: "deny", Outcome: "refused", Reason: "no_approver", Tool: "x", From: "bob"},
		"decided: allow x for bob, by ann, who changed path":                                           {Event: record.Decided, Verdict: "allow", Outcome: "allowed", Tool: "x", From: "bob", By: []string{"ann"}, Modified: []string{"/path"}},
		"decided: deny x for bob, by local":                                                            {Event: record.Decided, Verdict: "deny", Outcome: "denied", Tool: "x", From: "bob", By: []string{"local"}},
		"decided: allow x for bob, by local [9d1a91e4]":                                                {Event: record.Decided, Verdict: "allow", Outcome: "allowed", Tool: "x", From: "bob", By: []string{"local"}, Digest: "9d1a91e4"},
		"asking local: may bob call x? [9d1a91e4]":                                                     {Event: record.Asked, Tool: "x", From: "bob", Of: []string{"local"}, Digest: "9d1a91e4"},
		`asking local: may bob call x? [9d1a91e4]; bob says "the \"build\"\nis red"`:                   {Event: record.Asked, Tool: "x", From: "bob", Of: []string{"local"}, Digest: "9d1a91e4", Why: "the \"build\"\nis red"},
		"local wanted to pass it on to somebody who cannot be asked, and decides as before [9d1a91e4]": {Event: record.Answer, By: []string{"local"}, Reason: "invalid_delegation", Digest: "9d1a91e4"},
	} {
		if got := plain.Words(&r); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Whoever saved a policy file about which nobody is asked reads why it does not count, and
// what to do.
func TestAFileThatIsNotAskedAboutIsWarnedOfWithAWayOut(t *testing.T) {
	r := &record.Record{Event: record.ReloadDecided, Verdict: "deny", Reason: "too_large", Count: 20000}
	if got := plain.Words(r); !strings.Contains(got, "20000 ways") || !strings.Contains(got, "smaller steps, or restart the bridge") {
		t.Error(got)
	}
	if plain.Level(r) != slog.LevelWarn {
		t.Error(plain.Level(r))
	}
}

// What became of a changed policy file is said as it would be of any file, and by whom.
func TestWhetherAChangedPolicyFileCountsIsSaidInWords(t *testing.T) {
	for want, r := range map[string]record.Record{
		"the changed policy file counts from now on (by the person at the bridge)":        {Verdict: "allow", Outcome: "allowed", By: []string{"local"}},
		"the changed policy file does not count: the person at the bridge said no":        {Verdict: "deny", Outcome: "denied", Reason: "declined", By: []string{"local"}},
		"the changed policy file does not count: nobody decided in time":                  {Verdict: "deny", Outcome: "expired", Reason: "timeout"},
		"the changed policy file does not count: no approver":                             {Verdict: "deny", Outcome: "refused", Reason: "no_approver"},
		"the yes to the policy file could not be put on record (full) and does not count": {Verdict: "deny", Reason: "audit_unavailable", Detail: "full"},
	} {
		r.Event = record.ReloadDecided
		if got := plain.Words(&r); !strings.HasPrefix(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// That a call was withdrawn is one line, and nothing in a line is said twice.
func TestALogSaysThingsOnce(t *testing.T) {
	told := 0
	for _, r := range []record.Record{ // as they follow each other
		{Event: record.Withdrawn, Tool: "x", From: "bob", Proposal: "p"},
		{Event: record.Decided, Question: "q", Verdict: "withdrawn", Outcome: "withdrawn", Tool: "x", From: "bob"},
		{Event: record.Withdrawn, Tool: "x", From: "bob", Call: "c", Reason: "proposal_withdrawn"},
	} {
		if plain.Level(&r) >= slog.LevelInfo {
			told++
		}
	}
	if told != 1 {
		t.Errorf("it is told %d times", told)
	}
	waits := &record.Record{Event: record.ReloadWaiting, Detail: "rule dels is new", Count: 3}
	if words, details := plain.Words(waits), plain.Details(waits); !strings.Contains(words, waits.Detail) || len(details) > 0 {
		t.Errorf("%s %v", words, details)
	}
	refused := &record.Record{Event: record.Ended, Executed: "no", Reason: "invalid_arguments", Detail: "id is missing"}
	if details := plain.Details(refused); len(details) != 1 {
		t.Errorf("%v", details)
	}
}

func TestAHaltIsSaidInWords(t *testing.T) {
	by := []string{"local"}
	for want, r := range map[string]record.Record{
		"halted, by the person at the bridge: mad agents; nothing starts until it is resumed":                              {Event: record.Halted, By: by, Detail: "mad agents"},
		"halted still, as before the restart, by the person at the bridge: mad agents; nothing starts until it is resumed": {Event: record.Halted, By: by, Detail: "mad agents", Reason: "restarted"},
		"no longer halted, by the person at the bridge: mended":                                                            {Event: record.Resumed, By: by, Detail: "mended"},
		"no longer halted, by the person at the bridge":                                                                    {Event: record.Resumed, By: by},
	} {
		if got := plain.Words(&r); got != want || plain.Level(&r) != slog.LevelWarn || len(plain.Details(&r)) != 0 {
			t.Errorf("%q (%v, %v), want %q", got, plain.Level(&r), plain.Details(&r), want)
		}
	}
}

// The log said "security" and "late answer", and not whose; a participant called local read like
// the person at the bridge.
func TestWhatCountsForNothingSaysWhose(t *testing.T) {
	namesake := approval.Participant("local").String()
	for want, r := range map[string]record.Record{
		"a late answer of bob counts for nothing (already answered) [9c01d2ee]":                                                {Event: record.LateAnswer, By: []string{"bob"}, Reason: "already_answered", Digest: "9c01d2ee"},
		"a late answer of the person at the client counts for nothing (not open)":                                              {Event: record.LateAnswer, From: "host"},
		"a yes to write_file for bob takes a passkey from now on":                                                              {Event: record.Tightened, From: "bob", Tool: "write_file", Method: "tools/call", Confirm: "passkey"},
		"a passkey of the person at the bridge signed a yes to write_file for bob":                                             {Event: record.Confirmed, By: []string{"local"}, From: "bob", Tool: "write_file", Method: "tools/call"},
		"the passkey blue key was enrolled: it signs for alice":                                                                {Event: record.PasskeyEnrolled, By: []string{"alice"}, Detail: "blue key"},
		"the passkey blue key of the person at the bridge was removed":                                                         {Event: record.PasskeyRemoved, By: []string{"local"}, Detail: "blue key"},
		"an answer of participant local counts for nothing (wrong sender)":                                                     {Event: record.ForeignAnswer, By: []string{namesake}, Reason: "wrong_sender"},
		"an answer of bob counts for nothing (no passkey has signed it)":                                                       {Event: record.ForeignAnswer, By: []string{"bob"}, Reason: approval.Unconfirmed},
		"an answer of the person at the bridge counts for nothing (no passkey that is known here has signed it)":               {Event: record.ForeignAnswer, By: []string{"local"}, Reason: approval.BadPasskey},
		"an answer of the person at the bridge counts for nothing (what was signed is not what would run, or was used before)": {Event: record.ForeignAnswer, By: []string{"local"}, Reason: approval.OtherSigned},
		"an answer of the person at the bridge counts for nothing (digest mismatch)":                                           {Event: record.ForeignAnswer, By: []string{"local"}, Reason: "digest_mismatch"},
		"security: withdraw not proposer, write_file, by bob":                                                                  {Event: record.Security, By: []string{"bob"}, From: "ann", Tool: "write_file", Reason: "withdraw_not_proposer"},
		"security: child unexpected response":                                                                                  {Event: record.Security, Reason: "child_unexpected_response"},
	} {
		if got := plain.Words(&r); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}
