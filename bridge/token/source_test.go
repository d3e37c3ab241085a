package token_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/token"
)

// fromText is what is read where a token is expected and this stands there.
func fromText(t *testing.T, text string) (string, error) {
	t.Helper()
	s, err := token.Static("here", text)
	if err != nil {
		return "", err
	}
	got, err := s.Token(t.Context(), false)
	if err == nil && got == "" {
		err = errors.New("it is empty")
	}
	return got, err
}

// A token is made of printable ASCII and has a greatest length.
func TestEveryByteOfAToken(t *testing.T) {
	for c := range 256 {
		text := "a" + string([]byte{byte(c)}) + "b"
		if got, err := fromText(t, text); (err == nil) != (c > ' ' && c <= '~') || err == nil && got != text {
			t.Errorf("%q: %v", text, err)
		}
	}
	const most = 16 << 10
	for n, fits := range map[int]bool{1: true, most - 1: true, most: true, most + 1: false} {
		if _, err := fromText(t, " "+strings.Repeat("x", n)+"\n"); (err == nil) != fits {
			t.Errorf("of %d bytes: %v", n, err)
		}
	}
}

// White space stands on either side of a token, and however much of it there is, a token is
// taken whole or not at all: of one behind 40 blanks what was over 16 KiB was cut away.
func TestATokenInAFileIsTakenWholeOrNotAtAll(t *testing.T) {
	const most = 16 << 10
	file := filepath.Join(t.TempDir(), "token")
	of := func(n int) string { return strings.Repeat("x", n) }
	for text, want := range map[string]string{
		"  t\r\n": "t", of(most): of(most), of(most) + "\n": of(most), strings.Repeat(" ", 40) + of(most) + "\n": of(most), "\n\n" + of(most) + "\r\n\r\n": of(most),
		of(most + 1): "", strings.Repeat(" ", 40) + of(most+1): "", strings.Repeat(" ", most) + of(most+1): "", "t" + strings.Repeat(" ", 8*most) + "t": "", strings.Repeat(" ", 8*most) + "t": "",
		strings.Repeat("\n", most+1): "",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := token.FromFile(file)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("of %d bytes, %.10q: a token of %d, want %d: %v", len(text), text, len(got), len(want), err)
		}
		if err != nil && !strings.HasPrefix(err.Error(), "--token-file: ") {
			t.Errorf("of %d bytes, %.10q: %v", len(text), text, err)
		}
	}
}

func TestTokensAreTidiedAndNeverShown(t *testing.T) {
	for text, want := range map[string]string{"abc\n": "abc", "  a.b-c_d \r\n": "a.b-c_d", "": "", "HUSH HUSH": "", "HUSH\nHUSH": "", "HÜSH": "", strings.Repeat("HUSH", 5000): ""} {
		got, err := fromText(t, text)
		if got != want || (err != nil) != (want == "") {
			t.Errorf("%.20q: %q %v", text, got, err)
		}
		if err != nil && strings.Contains(err.Error(), "USH") {
			t.Errorf("%.20q: its error shows it: %v", text, err)
		}
	}
}

// What was given out is in no trace, and the same token is not given out for the one that
// was refused.
func TestATokenThatWasRefusedIsNotGivenOutAgain(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	put := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("first")
	s, err := token.File(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.First(t.Context()); err != nil || s.Peek() != "first" {
		t.Fatalf("%q, %v", s.Peek(), err)
	}
	if got, err := s.Token(t.Context(), false); got != "first" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := s.Token(t.Context(), true); err == nil {
		t.Errorf("%q again", got)
	}
	put("second")
	if got, err := s.Token(t.Context(), true); got != "second" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if got := string(s.Hide([]byte("first, second, third"))); got != "[token], [token], third" {
		t.Errorf("a trace shows %s", got)
	}
}
