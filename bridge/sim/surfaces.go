package sim

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
)

// The person at this machine has several surfaces, and what each is told of an answer must be
// so (I19).

// A standing is how the checker sees a question.
type standing struct {
	known   bool // it is about a call
	open    bool
	allowed bool
}

func (c *checker) standing(question string) standing {
	cl := c.questions[question]
	if cl == nil {
		return standing{}
	}
	return standing{true, cl.question == question && cl.undecided(), cl.question == question && cl.allowed}
}

// heardOf is what a surface is told of an answer to a question that stood so before.
func (c *checker) heardOf(x inbox.Decision, was standing, out inbox.Outcome, err error) {
	now := c.standing(x.ID)
	if !was.known {
		return
	}
	refusal, refused := errors.AsType[*inbox.Refusal](err)
	began := now.allowed && !was.allowed
	switch {
	case err != nil && !refused:
		c.blame("I19", "an answer to %s comes to %v", x.ID, err)
	case began != (out.Outcome == approval.Allowed.String()):
		c.blame("I19", "an answer to %s came to %q (%v), and it is allowed by that: %v", x.ID, out.Outcome, err, began)
	case out.Outcome == inbox.Pending && !now.open && !c.w.log.failedSince(c.w.now): // what was said cannot be put on record, and the question ends
		c.blame("I19", "others are to answer %s too, it is said, and it has ended", x.ID)
	case !refused && !was.open:
		c.blame("I19", "an answer to %s came to %q, and it had ended", x.ID, out.Outcome)
	case refused && (refusal.Reason == inbox.AlreadyDecided || refusal.Reason == inbox.Unknown) && now.open:
		c.blame("I19", "%s has ended, it is said (%s), and it is open", x.ID, refusal.Reason)
	}
}

// viewedOutside: what leaves this machine is of the same question, without its secrets.
func (c *checker) viewedOutside(whole, public approval.View) {
	text, err := json.Marshal(public)
	switch {
	case err != nil, strings.Contains(string(text), "SECRET"):
		c.blame("AI-24", "a secret leaves this machine: %s (%v)", text, err)
	case public.Digest != whole.Digest || public.ID != whole.ID:
		c.blame("AI-23", "%s as %s is shown outside as %s", whole.ID, whole.Digest, public.Digest)
	}
	c.legible(public.Headline)
	for _, leaf := range public.Arguments {
		c.legible(leaf.Text)
	}
}
