package audit

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"
)

// turnOver writes until the log has begun another file.
func turnOver(t *testing.T, l *Log) {
	t.Helper()
	for first := l.first; l.first == first; {
		mustAppend(t, l, `{"event":"tick"}`)
	}
}

func asked(call int) string {
	return fmt.Sprintf(`{"event":"asked","call":%d,"env":"e-%d","from":"ana"}`, call, call)
}

func wantCalls(t *testing.T, f Found, want ...string) {
	t.Helper()
	var got []string
	for _, c := range f.Calls {
		got = append(got, fmt.Sprintf("%s %s started=%v ended=%v", c.ID, c.Env, c.Started, c.Ended))
	}
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("calls %q, want %q", got, want)
	}
}

// bob requests of carol what was proposed, with other arguments. That is on record, and was
// no request of us.
func TestARequestOfSomebodyElseIsNoneOfOurs(t *testing.T) {
	path := newPath(t)
	l, _ := open(t, path, Options{})
	mustAppend(t, l, `{"event":"proposal_diff","env":"e-z","from":"bob","method":"tools/call","tool":"read_file","proposal":"p"}`)
	abandon(t, l)
	if _, found := open(t, path, Options{}); len(found.Calls) > 0 {
		t.Errorf("it takes a place in bob's share, as a request that was taken: %+v", found.Calls)
	}
}

// Of a call whose first records are gone with their file, the number alone is left, and that it ran.
func TestACallWhoseBeginningIsGoneIsFoundAsOneThatRan(t *testing.T) {
	path := newPath(t)
	l, _ := open(t, path, calm)
	mustAppend(t, l, decided(1, "allow"), started(1))
	must(t, os.Remove(path))
	forgetCheck(l)
	if l.Append(raw(whole(2))...) == nil {
		t.Fatal("it wrote to a file that is gone")
	}
	must(t, l.Retry())
	abandon(t, l)
	_, found := open(t, path, calm)
	if len(found.Calls) != 1 || found.Calls[0].ID != "1" || !found.Calls[0].Started || found.Calls[0].Ended {
		t.Errorf("%+v", found.Calls)
	}
}

// People may be asked for longer than calls are remembered, and the file with the question may be full.
func TestACallThatWasAskedAboutLongAgoIsFound(t *testing.T) {
	path := newPath(t)
	o := Options{MaxSize: 1 << 10, Memory: time.Nanosecond}
	l, _ := open(t, path, o)
	mustAppend(t, l, asked(1), asked(2), asked(3), asked(4), asked(5))
	mustAppend(t, l, decided(2, "allow"), started(2), ended(2))
	mustAppend(t, l, decided(3, "deny"), `{"event":"rejected","call":3}`, `{"event":"withdrawn","call":4}`)
	mustAppend(t, l, decided(5, "allow"), started(5))
	for l.first < 40 {
		mustAppend(t, l, `{"event":"tick"}`)
	}
	for range 2 { // who opens it first is killed before a last word
		abandon(t, l)
		var found Found
		l, found = open(t, path, o)
		wantCalls(t, found, "1 e-1 started=false ended=false", "5 e-5 started=true ended=false")
	}
	mustAppend(t, l, `{"event":"rejected","call":1}`)
	turnOver(t, l)
	if text := read(t, path); bytes.Contains(text, []byte(`"asked"`)) {
		t.Errorf("it is carried still: %s", text)
	}
	verified(t, path)
}

// Leave to start ends with the process that had it, and so does a no that was not passed on. Neither ran, and each has its
// last word however long after.
func TestACallThatWasAllowedLongAgoIsFound(t *testing.T) {
	path := newPath(t)
	o := Options{MaxSize: 1 << 10, Memory: time.Nanosecond}
	l, _ := open(t, path, o)
	mustAppend(t, l, decided(1, "allow"))
	turnOver(t, l)
	mustAppend(t, l, decided(2, "deny"))
	for range 2 { // who opens it first is killed before a last word
		abandon(t, l)
		var found Found
		l, found = open(t, path, o)
		wantCalls(t, found, "1 e-1 started=false ended=false", "2 e-2 started=false ended=false")
		turnOver(t, l)
	}
	mustAppend(t, l, `{"event":"rejected","call":1}`, `{"event":"rejected","call":2}`)
	abandon(t, l)
	_, found := open(t, path, o)
	wantCalls(t, found)
	verified(t, path)
}

// An open question has files read from a day before. The calls that ended in them are not to fill the memory, nor are
// proposals, which have no end here.
func TestOldCallsTakeNoMemoryAtTheStart(t *testing.T) {
	path := newPath(t)
	l, _ := open(t, path, Options{Mode: Never, MaxSize: 1 << 20})
	mustAppend(t, l, asked(1))
	for call := range 5000 {
		mustAppend(t, l, whole(call+2)...)
		mustAppend(t, l, fmt.Sprintf(`{"event":"proposed","env":"p-%d","from":"bob"}`, call))
	}
	mustClose(t, l)
	files, err := Files(path)
	must(t, err)
	r := opening{Found: Found{replay: newReplay()}, since: time.Now().Add(time.Hour), called: map[string]*Call{}, words: map[string]string{}}
	most := 0
	for i, file := range files {
		must(t, r.read(file, i == len(files)-1))
		most = max(most, len(r.called))
	}
	if most > 1 || r.called["1"] == nil {
		t.Errorf("%d calls are held at one time, the question among them: %v", most, r.called["1"] != nil)
	}
}

// The server may answer a call whose caller has its answer, in a file that says nothing else of it.
func TestALateAnswerOpensNoCall(t *testing.T) {
	path := newPath(t)
	o := Options{MaxSize: 1 << 10, Memory: time.Nanosecond}
	l, _ := open(t, path, o)
	mustAppend(t, l, whole(1)...)
	turnOver(t, l)
	mustAppend(t, l, `{"event":"late","call":1,"env":"e-1","from":"ana"}`)
	mustClose(t, l)
	if _, found := open(t, path, o); len(found.Calls) > 0 {
		t.Errorf("a call that has its last word is to get another: %+v", found.Calls)
	}
}
