package audit

import (
	"strings"
	"testing"
)

// A use of a plan that nobody made, that goes beyond it, or that is counted twice is found, as
// is one after it was taken back.
func TestVerifyUsesOfPlans(t *testing.T) {
	const (
		made  = `{"event":"decided","call":"p","verdict":"allow","grant":"ab12","keep":"plan","uses":[2,1]}`
		taken = `{"event":"revoked","grant":"ab12"}`
	)
	use := func(call, counts string) string {
		return `{"event":"decided","call":"` + call + `","verdict":"allow","grant":"ab12",` + counts + `}`
	}
	for what, c := range map[string]struct {
		records []string
		why     string
	}{
		"as agreed":           {[]string{made, use("a", `"item":1,"use":1`), use("b", `"item":2,"use":1`), use("c", `"item":1,"use":2`)}, ""},
		"one was lost":        {[]string{made, use("a", `"item":1,"use":2`)}, ""},
		"an exact yes":        {[]string{`{"event":"decided","call":"a","verdict":"allow","grant":"cd"}`}, ""},
		"a no":                {[]string{`{"event":"decided","call":"a","verdict":"deny","grant":"ab12","item":1,"use":9}`}, ""},
		"without a plan":      {[]string{use("a", `"item":1,"use":1`)}, "to which nobody agreed"},
		"before the plan":     {[]string{use("a", `"item":1,"use":1`), made}, "to which nobody agreed"},
		"beyond it":           {[]string{made, use("a", `"item":2,"use":2`)}, "which covers 1"},
		"beside it":           {[]string{made, use("a", `"item":3,"use":1`)}, "which has 2"},
		"twice":               {[]string{made, use("a", `"item":1,"use":1`), use("b", `"item":1,"use":1`)}, "was used 1 times before"},
		"after it was taken":  {[]string{made, taken, use("a", `"item":1,"use":1`)}, "taken back"},
		"the plan made again": {[]string{made, made}, "which there was"},
	} {
		path := newPath(t)
		l, _ := open(t, path, calm)
		mustAppend(t, l, c.records...)
		l.Close()
		r, err := VerifyLog(path, Checks{})
		if err != nil {
			t.Fatal(err)
		}
		if c.why == "" && r.Fault != nil || c.why != "" && (r.Fault == nil || !strings.Contains(r.Fault.Why, c.why)) {
			t.Errorf("%s: %+v, want %q", what, r.Fault, c.why)
		}
	}
}
