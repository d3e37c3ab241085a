package policy_test

import (
	"strings"
	"testing"
)

// A long name with a NUL in it is one with the short one to readers in C. Only keys, not
// pointers, hid it.
func TestALongNameThatReadersTakeForAHiddenOneWasShown(t *testing.T) {
	long := strings.Repeat("x", 2000)
	for pointer, args := range map[string]string{
		"/pin":           `{"pin\u0000` + long + `":"S3CRET"}`,
		"/card/cvc":      `{"card":{"cvc\u0000` + long + `":"S3CRET"}}`,
		"/card/*/cvc":    `{"card\u0000` + long + `":{"a":{"cvc":"S3CRET"}}}`,
		"/elsewhere/cvc": `{"` + long + `":"S3CRET"}`,
	} {
		p := load(t, "default: ask\nredact: ["+pointer+"]\n")
		if got := string(p.Redact([]byte(args))); strings.Contains(got, "S3CRET") {
			t.Errorf("%s does not hide it: %.60s…", pointer, got)
		}
	}
	none := load(t, "default: ask\nredact: []\n")
	if args := `{"` + long + `":"shown"}`; string(none.Redact([]byte(args))) != args {
		t.Error("a file that hides nothing hides it")
	}
}
