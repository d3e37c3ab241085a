package approval

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// Each bound on what an approver may put in the place of an argument or of the time a call has,
// at both its ends and beside them (FINDINGS T3).
func TestWhatMayBeEditedAtItsBounds(t *testing.T) {
	long := func(s string, n int) string { return `"` + strings.Repeat(s, n) + `"` }
	for _, c := range []struct {
		edit        policy.Edit
		fits, fails []string
	}{
		{policy.Edit{Arg: timeoutArg, Type: "number"}, []string{"1e-9", "0.000000001", "1", "86399.999", "86400", "8.64e4"}, []string{"0", "-0", "-1", "1e-10", "0.9e-9", "86400.000000001", "86401"}},
		{policy.Edit{Arg: timeoutArg, Type: "number", Min: "1", Max: "300"}, []string{"1", "1.0", "300", "3e2"}, []string{"0.999", "300.001"}},
		{policy.Edit{Arg: "/n", Type: "number"}, []string{"0", "9", "-9", "1e400", "1e-400", "1E+400", strings.Repeat("1", 64)}, []string{"1e401", "1e-401", strings.Repeat("1", 65), `"1"`, "true", "null", "[]"}},
		{policy.Edit{Arg: "/n", Type: "integer", Min: "-1", Max: "2"}, []string{"-1", "2", "2.0", "20e-1"}, []string{"-2", "3", "1.5", "-1.1"}},
		{policy.Edit{Arg: "/n", Type: "string"}, []string{`""`, long("x", maxEdited), long("é", maxEdited/2)}, []string{long("x", maxEdited+1), long("é", maxEdited/2+1)}},
		{policy.Edit{Arg: "/n", Type: "string", Min: "2", Max: "4"}, []string{`"ab"`, `"abcd"`, `"éééé"`, `"\u0061\u0062"`, `"😀😀😀😀"`}, []string{`""`, `"a"`, `"é"`, `"abcde"`, `"ééééé"`}},
		{policy.Edit{Arg: "/n", Type: "boolean"}, []string{"true", "false"}, []string{"null", "0", `"true"`}},
		{policy.Edit{Arg: "/n", Type: "number", Enum: []string{"1", "10"}}, []string{"1", "1.0", "1e1"}, []string{"2", "0", "11"}},
	} {
		c.edit.Field = "field"
		for _, each := range []struct {
			values []string
			fits   bool
		}{{c.fits, true}, {c.fails, false}} {
			for _, value := range each.values {
				s := newStage(t, Options{})
				q := writeFile("alice")
				q.Args, q.Terms.Edit = []byte(`{"n":"as it was"}`), []policy.Edit{c.edit}
				s.open(q)
				s.says("alice", `{"action":"accept","content":{"approve":true,"field":`+value+`}}`)
				if e := s.end(); (e.Outcome == Allowed) != each.fits || !each.fits && e.Reason != InvalidModification {
					t.Errorf("%+v: %.40s of %d bytes: %s %s %s", c.edit, value, len(value), e.Outcome, e.Reason, e.Detail)
				}
			}
		}
	}
}

// People are asked about so many bytes and values, in two parts or in one.
func TestHowMuchPeopleAreAskedAbout(t *testing.T) {
	bytes := func(n int) string { return `{"a":"` + strings.Repeat("x", n-8) + `"}` }
	values := func(n int) string { return `{"a":[` + strings.TrimSuffix(strings.Repeat("1,", n-2), ",") + `]}` }
	for n, fits := range map[int]bool{-1: true, 0: true, 1: false} {
		for what, parts := range map[string][2]string{
			"bytes": {bytes(MaxAsked + n)}, "bytes in two parts": {bytes(MaxAsked - 100), bytes(100 + n)},
			"values": {values(MaxAskedValues + n)}, "values in two parts": {values(MaxAskedValues - 100), values(100 + n)},
		} {
			if why := Beyond([]byte(parts[0]), []byte(parts[1])); (why == "") != fits {
				t.Errorf("%s, the most and %d: %s", what, n, why)
			}
		}
		s := newStage(t, Options{})
		s.open(writeFile("alice"))
		yes := `{"action":"accept","content":{"approve":true}}`
		s.says("alice", yes+strings.Repeat(" ", MaxAsked+n-len(yes)))
		if e, _ := last[Settled](s, nil); (e.Outcome == Allowed) != fits {
			t.Errorf("an answer of the most bytes and %d: %s %s", n, e.Outcome, e.Reason)
		}
	}
}

// Where a value is cut, where the line of all arguments is, and from where on the topic hears sizes alone.
func TestWhereWhatIsShownIsCut(t *testing.T) {
	view := func(args string) (View, string) {
		s := newStage(t, Options{})
		q := writeFile("alice", "local")
		q.Args = []byte(args)
		s.open(q)
		v, _ := s.d.View(s.now, s.shown("local").ID, false)
		return v, s.form(s.shown("alice")).RequestedSchema.Properties["approve"]["description"].(string)
	}
	for n, cut := range map[int]bool{359: false, 360: false, 361: true} {
		for what, args := range map[string]string{"text": `{"a":"` + strings.Repeat("é", n) + `"}`, "number": `{"a":` + strings.Repeat("1", n) + `}`} {
			if v, _ := view(args); v.Arguments[0].Cut != cut {
				t.Errorf("a %s of %d: %+v", what, n, v.Arguments[0])
			}
		}
	}
	for n, cut := range map[int]bool{compactBytes - 1: false, compactBytes: false, compactBytes + 1: true} {
		var b strings.Builder
		for i := 0; b.Len() < n-300; i++ {
			fmt.Fprintf(&b, `"k%03d":"%s",`, i, strings.Repeat("x", 200))
		}
		args := `{` + b.String() + `"z":"` + strings.Repeat("x", n-b.Len()-len(`{"z":""}`)) + `"}`
		if _, line := view(args); strings.Contains(line, "(cut: ") != cut || len(args) != n {
			t.Errorf("a line of %d: %s", len(args), line)
		}
	}
	for n, shown := range map[int]bool{maxOriginal - 1: true, maxOriginal: true, maxOriginal + 1: false} {
		args := `{"a":"` + strings.Repeat("x", n-len(`{"a":""}`)) + `"}`
		if spelled, size := original([]byte(args)); (spelled != nil) != shown || (size == n) == shown {
			t.Errorf("arguments of %d: %d shown, size %d", n, len(spelled), size)
		}
	}
	for n, spelled := range map[int]bool{8*maxOriginal - 1: true, 8 * maxOriginal: true, 8*maxOriginal + 1: false} {
		args := `{"a":1` + strings.Repeat(" ", n-len(`{"a":1}`)) + `}`
		if text, size := original([]byte(args)); (text != nil) != spelled || size == n == spelled {
			t.Errorf("arguments of %d with white space: %d shown, size %d", n, len(text), size)
		}
	}
}

// What can be written down for good, and what holds for the session only.
func TestWhatAGrantCanSayForGood(t *testing.T) {
	items := func(n int) string { return `{"a":[` + strings.TrimSuffix(strings.Repeat("1,", n), ",") + `]}` }
	text := func(n int) string { return `{"a":"` + strings.Repeat("x", n) + `"}` }
	for args, keep := range map[string]string{
		items(60): "always", items(61): "always", items(62): "session", // with the list, its size and that of the whole
		text(compactBytes): "always", text(compactBytes + 1): "session",
		`{"a":9}`: "always", `{"a":` + strings.Repeat("9", 18) + `}`: "always", `{"a":` + strings.Repeat("9", 19) + `}`: "session",
		`{"a":0.` + strings.Repeat("9", 17) + `}`: "always", `{"a":0.` + strings.Repeat("9", 18) + `}`: "session", `{"a":1e1}`: "session", `{"a":-0.0}`: "always",
	} {
		if g := alwaysFor(t, args); g.Keep != keep {
			t.Errorf("%.40s of %d bytes: %s", args, len(args), g.Keep)
		}
	}
}

// How much time has to be left for somebody to be asked once more.
func TestHowMuchTimeIsLeftToAskOnceMore(t *testing.T) {
	for left, again := range map[time.Duration]int{leftToReask - 1: 0, leftToReask: 1, leftToReask + 1: 1} {
		s := newStage(t, Options{})
		s.open(writeFile("alice"))
		s.pass(time.Minute - left)
		if n := count[Show](s.did(s.d.Reask(s.now))); n != again {
			t.Errorf("our connection is back %v before the end: asked %d times", left, n)
		}
	}
	for left, again := range map[time.Duration]int{leftToPassOn - 1: 0, leftToPassOn: 1, leftToPassOn + 1: 1} {
		s := newStage(t, Options{})
		s.open(writeFile("alice"))
		a := s.to(s.shown("alice"), `{"action":"accept","content":{"approve":true}}`)
		a.Corr = []string{"e9999"}
		s.pass(time.Minute - left)
		if n := count[Show](s.answer(a)); n != again {
			t.Errorf("an answer to no question of ours %v before the end: asked %d times", left, n)
		}
	}
}

// What two have to agree on may change three times; who changes it once more has said no.
func TestHowOftenAQuestionChanges(t *testing.T) {
	s := newStage(t, Options{})
	q := deploy("alice", "carol")
	q.Terms.Need = 2
	s.open(q)
	targets := []string{"staging", "development", "production", "staging"}
	for n, target := range targets {
		who := []string{"alice", "carol"}[n%2]
		s.says(who, `{"action":"accept","content":{"approve":true,"modifiedTarget":"`+target+`"}}`)
		if e, ended := last[Settled](s, nil); ended != (n == maxAmended) || ended && (e.Outcome != Denied || e.Reason != InvalidModification) {
			t.Fatalf("change %d: ended %v, %s", n+1, ended, s.story())
		}
	}
}

// Who had the question twice, as the connection was lost, and changes it once too often hears why
// of what they answered; the other one is taken away once, and not once more (seed 315777).
func TestWhoChangesItTooOftenHearsSoOfWhatTheyAnswered(t *testing.T) {
	for _, which := range []string{"old", "new"} {
		s := newStage(t, Options{})
		q := deploy("alice", "carol")
		q.Terms.Need = 2
		s.open(q)
		changed := func(to string) string {
			return `{"action":"accept","content":{"approve":true,"modifiedTarget":"` + to + `"}}`
		}
		for n, target := range []string{"staging", "development", "production"} {
			s.says([]string{"alice", "carol"}[n%2], changed(target))
		}
		show := s.shown("carol")
		s.did(s.d.Reask(s.now))
		other := s.shown("carol")
		if which == "new" {
			show, other = other, show
		}
		why := map[string]string{}
		for _, a := range s.answer(s.to(show, changed("staging"))) {
			if c, ok := a.(Close); ok && c.To == Participant("carol") {
				why[c.Ask] += c.Because + ";"
			}
		}
		s.wantEnd(Denied, InvalidModification)
		if told := why[show.Ask]; !strings.HasPrefix(told, "your answer was taken for a no: ") || why[other.Ask] != "you answered already;" {
			t.Errorf("answered the %s one: %q of it, and of the other %q", which, told, why[other.Ask])
		}
	}
}

// So many yeses are remembered for a session; the next holds for its call alone.
func TestHowManyYesesAreRemembered(t *testing.T) {
	s := newStage(t, Options{PerMinute: 2 * maxGrants})
	for n := 1; n <= maxGrants+1; n++ {
		q := rememberable("alice")
		q.Args = fmt.Appendf(nil, `{"n":%d}`, n)
		s.open(q)
		s.says("alice", keeps("session"))
		if e := s.end(); e.Outcome != Allowed || (e.Made != nil) != (n <= maxGrants) {
			t.Fatalf("yes %d: %s, remembered %v", n, e.Outcome, e.Made != nil)
		}
	}
}

// The arguments of all questions that wait fill so many bytes.
func TestHowMuchWaits(t *testing.T) {
	for most, opens := range map[int]bool{47: false, 48: true, 49: true} { // twice 24 bytes
		s := newStage(t, Options{MaxBytes: most})
		s.open(writeFile("alice"))
		q := writeFile("alice")
		q.Args = []byte(`{"path":"/b","text":"x"}`)
		s.open(q)
		if e, ended := last[Settled](s, nil); ended == opens || ended && e.Reason != Busy {
			t.Errorf("of %d bytes: %s", most, s.story())
		}
	}
}

// A key of a dialog has 64 bytes at most, or a number in its place.
func TestHowLongAKeyOfADialogIs(t *testing.T) {
	for n, own := range map[int]bool{1: true, 63: true, 64: true, 65: false} {
		key := strings.Repeat("k", n)
		d := &Dialog{Edits: []Field{{Field: key, Title: "T", Type: "string", Now: `"x"`}}}
		if schema := string(d.Schema()); strings.Contains(schema, `"`+key+`"`) != own || strings.Contains(schema, `"edit1"`) == own {
			t.Errorf("a field of %d bytes: %s", n, schema)
		}
	}
}
