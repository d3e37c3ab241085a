package grants

import (
	"strings"
	"testing"
)

// Nothing is taken back unless each name is that of one answer.
func TestWhichAnswersAreNamed(t *testing.T) {
	var all []Found
	for _, id := range []string{"9c01d2ee", "9c77aa00", "1f00ab12"} {
		var f Found
		f.ID = id
		all = append(all, f)
	}
	for _, bridge := range []string{"fs", "fs", "notes"} { // two of one id, in two topics, share a book
		for _, id := range []string{"5e5e5e5e", "7a7a7a7a"} {
			var f Found
			if f.Bridge, f.ID = bridge, id; bridge == "fs" || id == "7a7a7a7a" {
				all = append(all, f)
			}
		}
	}
	for named, want := range map[string]string{
		"1f 9c0": "1f00ab12 9c01d2ee", "9c77aa00": "9c77aa00",
		"5e": "5e5e5e5e 5e5e5e5e", "7a": "", "1f 5e": "1f00ab12 5e5e5e5e 5e5e5e5e",
		"9c": "", "77": "", "1f 9c": "", "1f ": "", // "" begins every id
	} {
		chosen, err := Named(all, strings.Split(named, " "))
		var got []string
		for _, f := range chosen {
			got = append(got, f.ID)
		}
		if strings.Join(got, " ") != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", named, got, err)
		}
	}
}
