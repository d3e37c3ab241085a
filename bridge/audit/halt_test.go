package audit

import (
	"slices"
	"strings"
	"testing"
)

const (
	halted  = `{"event":"halted","by":["local"],"detail":"mad agents"}`
	resumed = `{"event":"resumed","by":["local"]}`
)

// Whoever says that nothing ran between two records is held to it.
func TestAStartWhileHaltedIsAFault(t *testing.T) {
	for name, c := range map[string]struct {
		recs []string
		line int // of the fault; 0: there is none
	}{
		"what ran before goes on": {[]string{decided(1, "allow"), started(1), halted, ended(1), resumed}, 0},
		"after it":                {slices.Concat([]string{halted, resumed}, whole(1)), 0},
		"refused meanwhile":       {[]string{halted, `{"event":"rejected","env":"e-1","from":"ana","executed":"no"}`}, 0},
		"meanwhile":               {slices.Concat([]string{halted}, whole(1)), 4},
		"allowed before":          {[]string{decided(1, "allow"), halted, started(1)}, 4},
		"halted twice":            {slices.Concat([]string{halted, halted, resumed}, whole(1)), 0},
		"again":                   {slices.Concat([]string{halted, resumed, halted}, whole(1)), 6},
	} {
		text, _ := sample(t, c.recs...)
		r := check(t, text, Checks{})
		switch {
		case c.line == 0 && !r.OK:
			t.Errorf("%s: %v", name, r.Fault)
		case c.line != 0 && (r.OK || r.Fault.Line != c.line || !strings.Contains(r.Fault.Why, "while the bridge was halted")):
			t.Errorf("%s: %+v", name, r.Fault)
		}
		if r.OK && (r.Halts != strings.Count(strings.Join(c.recs, ""), `"halted"`) || r.Halted != (c.recs[len(c.recs)-1] != resumed && !slices.Contains(c.recs, resumed))) {
			t.Errorf("%s: halted %d times, and at the end: %v", name, r.Halts, r.Halted)
		}
	}
}

// Each file says by itself whether the bridge is halted, and so does the log to who opens it: the
// file that has the halt may be gone.
func TestAHaltIsCarriedFromFileToFile(t *testing.T) {
	path := newPath(t)
	o := Options{MaxSize: 600}
	for _, c := range []struct {
		rec  string
		then bool
	}{{halted, true}, {`{"event":"revoked"}`, true}, {resumed, false}, {`{"event":"revoked"}`, false}} {
		l, _ := open(t, path, o)
		mustAppend(t, l, c.rec)
		for range 20 {
			mustAppend(t, l, `{"event":"dropped","detail":"filler of some length, so that the log needs another file soon"}`)
		}
		mustClose(t, l)
		files, err := Files(path)
		if err != nil || len(files) < 3 {
			t.Fatalf("%d files, %v", len(files), err)
		}
		r, err := Verify(strings.NewReader(string(read(t, files[len(files)-1]))), Checks{Partial: true})
		if err != nil || !r.OK || r.Halted != c.then {
			t.Errorf("the last file after %s: %+v, %v, %v", c.rec, r, r.Fault, err)
		}
		l, found := open(t, path, o)
		if found.Halted != c.then || found.Fault != nil {
			t.Errorf("opened after %s: halted %v, %v", c.rec, found.Halted, found.Fault)
		}
		mustClose(t, l)
	}
}
