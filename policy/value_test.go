package policy

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// A key that stands twice is found among few and among many.
func TestAKeyThatStandsTwice(t *testing.T) {
	for n := 1; n < 40; n++ {
		var members []string
		for i := range n {
			members = append(members, fmt.Sprintf(`"k%d":%d`, i, i))
		}
		object := "{" + strings.Join(members, ",") + "}"
		if _, err := readObject([]byte(object)); err != nil {
			t.Errorf("%d keys: %v", n, err)
		}
		for i := range n {
			if _, err := readObject(fmt.Appendf(nil, `%s,"k%d":0}`, object[:len(object)-1], i)); err == nil || !strings.Contains(err.Error(), "twice") {
				t.Errorf("key %d of %d again: %v", i, n, err)
			}
		}
	}
}

// Wherever something stands in a string that is not plain text, it is seen.
func TestStringsOfEveryLength(t *testing.T) {
	for n := range 40 {
		for _, odd := range []string{"", `\n`, `\"`, `\\`, "\x1f", "\x00", `"`, "\u00e9", "\u2028", "\x7f"} {
			for at := range n + 1 {
				text := `{"s":"` + strings.Repeat("x", at) + odd + strings.Repeat(" ", n-at) + `"}`
				var want struct{ S string }
				bad := json.Unmarshal([]byte(text), &want)
				got, err := readObject([]byte(text))
				if (err == nil) != (bad == nil) || err == nil && got.member("s").text != want.S {
					t.Fatalf("%q: %v, but %v", text, err, bad)
				}
			}
		}
	}
}
