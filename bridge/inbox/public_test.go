package inbox_test

import (
	"context"
	"reflect"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/inboxtest"
)

// What becomes of a field in the public view.
const (
	same     = "same"     // it is told as it is
	redacted = "redacted" // it is told, without what the policy hides and this machine keeps
	hidden   = "hidden"   // it is not told
	part     = "part"     // of what is in a list: that says what becomes of it
)

// decisions are those about every field of all that an Inbox tells. A new field needs one.
var decisions = map[reflect.Type]map[string]string{
	reflect.TypeFor[approval.View](): {
		"Summary": part, "Digest": same, "Headline": same, "Banner": same, "Facts": redacted, "People": same, "Via": same, "About": same, "Hints": same, "RememberFor": same, "Edits": redacted, "DelegateTo": same, "Away": same,
		"Remember": same, "Me": same, "RememberMeans": same, "Choice": same, "Priority": same, "Arguments": redacted, "More": same,
		"Compact": redacted, "BesideText": redacted, "Plan": part,
	},
	reflect.TypeFor[approval.Summary](): {
		"ID": same, "Short": same, "Bridge": same, "From": same, "Tool": same, "Args": hidden, "Beside": hidden, "Rule": same, "Asked": same,
		"Deadline": same, "Need": same, "Have": same, "Asking": same, "Elsewhere": same, "AboutPolicy": same, "Confirm": same, "FrozenMS": same,
	},
	reflect.TypeFor[approval.Fact]():   {"Name": part, "Text": part},
	reflect.TypeFor[approval.Person](): {"Who": part, "State": part, "From": part},
	reflect.TypeFor[approval.Field]():  {"Field": part, "Title": part, "Type": part, "Enum": part, "Min": part, "Max": part, "Under": part, "Now": part},
	reflect.TypeFor[approval.Leaf]():   {"Name": part, "Text": part, "Whole": part, "Cut": part},
	reflect.TypeFor[inbox.Grant]():     {"Bridge": same, "Grant": part, "Running": same},
	reflect.TypeFor[approval.Grant](): {
		"ID": same, "Keep": same, "Caller": same, "Via": same, "Tool": same, "Args": hidden, "By": same, "Made": same, "Until": same, "Rules": same,
		"Fingerprint": same, "Uses": same, "Used": same,
	},
	reflect.TypeFor[inbox.Status](): {
		"ID": same, "Topic": same, "Gateway": same, "Dialect": same, "Seated": same, "Server": hidden, "ServerUp": same, "Pending": same,
		"Policy": hidden, "Flags": hidden, "PolicyHash": same, "PolicyErr": redacted, "Audit": hidden, "AuditOK": same, "PID": hidden, "Version": same,
		"Halted": redacted, "Calls": same, "Present": hidden, "Elsewhere": same, "Participant": same,
	},
	reflect.TypeFor[inbox.Event](): {"Event": same, "ID": same, "Because": redacted, "By": same},
}

// Every field of what is told is in the public view or, for a reason, is not.
func TestEveryFieldIsPublicOrDeliberatelyNot(t *testing.T) {
	h, id := secretive(t)
	in := troubled{h}
	whole, public := told{t, in, id, h}, told{t, inbox.Public(in), id, h}
	for _, of := range []func(told) any{told.view, told.status, told.grant, told.event} {
		compare(t, reflect.ValueOf(of(whole)), reflect.ValueOf(of(public)))
	}
	for _, listed := range []any{approval.Fact{}, approval.Person{}, approval.Field{}, approval.Leaf{}} {
		compare(t, reflect.ValueOf(listed), reflect.ValueOf(listed))
	}
}

// compare holds a public value against the whole one.
func compare(t *testing.T, whole, public reflect.Value) {
	t.Helper()
	of, met := decisions[whole.Type()], 0
	for f, value := range whole.Fields() {
		if !f.IsExported() || f.Tag.Get("json") == "-" {
			continue
		}
		met++
		shown := public.FieldByIndex(f.Index)
		equal := reflect.DeepEqual(value.Interface(), shown.Interface())
		name := whole.Type().String() + "." + f.Name
		switch how := of[f.Name]; {
		case how == same && !equal, how == hidden && !shown.IsZero(), how == redacted && (equal || shown.IsZero()):
			t.Errorf("%s is %s, and told as %v", name, how, shown)
		case (how == hidden || how == redacted) && value.IsZero():
			t.Errorf("%s has nothing to hide in this test", name)
		case how == part && f.Anonymous:
			compare(t, value, shown)
		case how == "":
			t.Errorf("nobody has decided whether %s may leave this machine: say so in decisions", name)
		}
	}
	if met != len(of) {
		t.Errorf("%d decisions are about fields that %s does not have", len(of)-met, whole.Type())
	}
}

// troubled is a Hall with a policy file that cannot be read, and halted.
type troubled struct{ *inboxtest.Hall }

func (h troubled) Status(ctx context.Context) (inbox.Status, error) {
	s, err := h.Hall.Status(ctx)
	s.Halted = &inbox.Halted{By: "local", Reason: secret}
	s.Flags = []string{"--allow " + secret}
	s.Present = inbox.PresentOf([]string{secret})
	s.PolicyErr = "policy.yaml:3: no rule is called " + secret
	return s, err
}

// told is what an inbox tells of a question.
type told struct {
	t  *testing.T
	in inbox.Inbox
	id string
	of *inboxtest.Hall
}

func (a told) view() any {
	v, err := a.in.Show(a.t.Context(), a.id)
	if err != nil {
		a.t.Fatal(err)
	}
	return v
}

func (a told) status() any {
	s, err := a.in.Status(a.t.Context())
	if err != nil {
		a.t.Fatal(err)
	}
	return s
}

func (a told) grant() any {
	all, err := a.in.Grants(a.t.Context())
	if err != nil || len(all) != 1 {
		a.t.Fatal(all, err)
	}
	return all[0]
}

func (a told) event() any {
	for e, err := range a.in.Watch(a.t.Context()) {
		if err != nil {
			a.t.Fatal(err)
		}
		if e.Event != "" {
			return e
		}
		a.of.Post(inbox.Event{Event: "closed", ID: a.id, By: "alice", Because: "denied by alice" + inbox.Said + secret})
	}
	return inbox.Event{}
}
