package sim

import (
	"errors"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
)

// What a surface is told of an answer is held against what came of it.
func TestWhatASurfaceIsToldMustBeSo(t *testing.T) {
	open, ended, ran := claim{question: "q"}, claim{question: "q", denied: true}, claim{question: "q", allowed: true}
	was := standing{known: true, open: true}
	for name, c := range map[string]struct {
		now   claim
		was   standing
		out   string
		err   error
		blame bool
	}{
		"a yes that was enough":             {now: ran, was: was, out: "allowed"},
		"a yes that was enough, as pending": {now: ran, was: was, out: inbox.Pending, blame: true},
		"a yes that was not":                {now: open, was: was, out: "allowed", blame: true},
		"others must agree":                 {now: open, was: was, out: inbox.Pending},
		"others must agree to what ended":   {now: ended, was: was, out: inbox.Pending, blame: true},
		"a no":                              {now: ended, was: was, out: "denied"},
		"a no to what had ended":            {now: ended, was: standing{known: true}, out: "denied", blame: true},
		"too late":                          {now: ended, was: standing{known: true}, err: &inbox.Refusal{Reason: inbox.AlreadyDecided}},
		"too late for what is open":         {now: open, was: was, err: &inbox.Refusal{Reason: inbox.AlreadyDecided}, blame: true},
		"a digest that was not shown":       {now: open, was: was, err: &inbox.Refusal{Reason: inbox.DigestMismatch}},
		"an error that is no refusal":       {now: open, was: was, err: errors.New("?"), blame: true},
	} {
		checker := aChecker()
		checker.w.log.troubleAt = -belated - 1
		checker.questions["q"] = &c.now
		checker.heardOf(inbox.Decision{ID: "q"}, c.was, inbox.Outcome{Outcome: c.out}, c.err)
		if blamed := len(checker.violations) > 0; blamed != c.blame {
			t.Errorf("%s: %v", name, checker.violations)
		}
	}
}

func TestASecretMustNotLeaveThisMachine(t *testing.T) {
	whole := approval.View{Digest: "d"}
	for _, public := range []approval.View{{Digest: "e"}, {Digest: "d", Compact: "the SECRET"}, {Digest: "d"}} {
		c := aChecker()
		c.viewedOutside(whole, public)
		if blamed, bad := len(c.violations) > 0, public.Digest != "d" || public.Compact != ""; blamed != bad {
			t.Errorf("%+v: %v", public, c.violations)
		}
	}
}
