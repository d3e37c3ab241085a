package prompt

import (
	"bytes"
	"time"
	"unicode/utf8"
)

// A key is one press, as the terminal tells it.
type key struct {
	r  rune // what was typed, or one of the constants
	at time.Time
}

// Keys that are no characters.
const (
	enter     = '\r'
	tabKey    = '\t'
	escape    = 0x1b
	backspace = 0x7f
	killLine  = 0x15 // Ctrl-U
	endOfText = 0x04 // Ctrl-D

	up rune = -1 - iota
	down
	left
	right
	pageUp
	pageDown
	home
	end
	del
	unknownKey
	tooMany // more was typed than can wait, and is lost
)

var sequences = map[string]rune{
	"[A": up, "[B": down, "[C": right, "[D": left, "OA": up, "OB": down, "OC": right, "OD": left,
	"[5~": pageUp, "[6~": pageDown, "[H": home, "[F": end, "OH": home, "OF": end, "[1~": home, "[4~": end, "[3~": del,
}

// A decoder makes keys of bytes. What is pasted is no press of a key: it is
// dropped, for it may hold anything.
type decoder struct {
	rest   []byte // the beginning of a sequence that is not complete
	pasted bool   // inside a paste
}

const (
	pasteBegins = "[200~"
	pasteEnds   = "[201~"
)

// decode returns the keys in text. An escape at the very end counts as the key
// of that name.
func (d *decoder) decode(text []byte, at time.Time) (keys []key) {
	text = append(d.rest, text...)
	d.rest = nil
	for len(text) > 0 {
		r, n := d.next(text)
		if n == 0 {
			d.rest = bytes.Clone(text)
			return keys
		}
		text = text[n:]
		if r != 0 && !d.pasted {
			keys = append(keys, key{r, at})
		}
	}
	return keys
}

// next returns the first key and its length; 0 and a length for what is none,
// and the length 0 if more must come.
func (d *decoder) next(text []byte) (rune, int) {
	if text[0] == escape && len(text) > 1 && (text[1] == '[' || text[1] == 'O') {
		return d.sequence(text)
	}
	if text[0] == '\n' {
		return enter, 1
	}
	if text[0] == '\b' {
		return backspace, 1
	}
	if !utf8.FullRune(text) {
		return 0, 0
	}
	r, n := utf8.DecodeRune(text)
	if r == utf8.RuneError {
		r = unknownKey
	}
	return r, n
}

func (d *decoder) sequence(text []byte) (rune, int) {
	n := 2
	for n < len(text) && (text[n] >= '0' && text[n] <= '?' || text[n] == '[') && n < 16 {
		n++
	}
	if n == len(text) {
		return 0, 0
	}
	name := string(text[1 : n+1])
	switch r := sequences[name]; {
	case name == pasteBegins:
		d.pasted = true
	case name == pasteEnds:
		d.pasted = false
	case r != 0:
		return r, n + 1
	default:
		return unknownKey, n + 1
	}
	return 0, n + 1
}
