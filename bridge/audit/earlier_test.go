package audit

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// A log in which events have the names of earlier builds is read like any other, and this
// build goes on in it.
func TestALogOfAnEarlierBuildIsReadAndGoesOn(t *testing.T) {
	path := newPath(t)
	l, _ := open(t, path, Options{})
	old := strings.NewReplacer(`"started"`, `"start"`, `"ended"`, `"end"`, `"answer"`, `"answered"`)
	for _, rec := range slices.Concat(whole(1), []string{decided(2, "ask"), `{"event":"answer","call":2,"by":["ana"]}`, decided(2, "allow"), startTook(2, `[2]`)}) {
		mustAppend(t, l, old.Replace(rec))
	}
	abandon(t, l)

	if r := verified(t, path); r.Starts != 2 || len(r.Unfinished) != 1 {
		t.Errorf("%+v", r)
	}
	l, found := open(t, path, Options{})
	at := slices.IndexFunc(found.Calls, func(c Call) bool { return c.ID == "2" })
	if at < 0 || !found.Calls[at].Started || found.Calls[at].Ended {
		t.Fatalf("%+v", found.Calls)
	}
	mustAppend(t, l, append([]string{endExecuted(2, "unknown")}, whole(3)...)...)
	mustClose(t, l)
	if r := verified(t, path); r.Starts != 3 || len(r.Unfinished) > 0 {
		t.Errorf("%+v", r)
	}
	if took, _ := runsOf(t, path, Options{Runs: time.Hour}); !slices.Equal(took, []string{"2[2]"}) {
		t.Errorf("%q", took)
	}
	var names []string
	for r, err := range Records(t.Context(), path, time.Time{}) {
		if err != nil {
			t.Fatal(err)
		}
		if r.Call != "" {
			names = append(names, r.Event)
		}
	}
	if want := []string{"decided", "started", "ended", "decided", "answer", "decided", "started", "ended", "decided", "started", "ended"}; !slices.Equal(names, want) {
		t.Errorf("%q", names)
	}
}

// A start that no rule allowed is found in an old log as in a new one.
func TestAStartWithoutADecisionIsFoundInAnOldLogToo(t *testing.T) {
	path := newPath(t)
	l, _ := open(t, path, Options{})
	mustAppend(t, l, `{"event":"start","call":1}`)
	mustClose(t, l)
	broken(t, path, 2, "started without a decision")
}

// Files of builds that did not carry what was allowed say nothing of a decision before them, also
// where people were asked again after it.
func TestAnOldFileWhoseBeginningIsGoneMayHaveAllowedWhatIsAskedAbout(t *testing.T) {
	for blind, faults := range map[bool]int{true: 0, false: 2} {
		c := newOpenCalls()
		c.blind = blind
		c.move([]byte("asked"), []byte("1"), false)
		got := 0
		for _, event := range []string{"started", "ended"} {
			if c.wrong([]byte(event), []byte("1")) != "" {
				got++
			}
		}
		if got != faults {
			t.Errorf("blind %v: %d faults", blind, got)
		}
	}
}
