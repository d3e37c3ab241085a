package fold_test

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/fold"
	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

func TestNamesThatSomeReaderTakesForOneAreAlike(t *testing.T) {
	for _, names := range [][]string{
		{"path", "PATH", "Path", "pAtH", "ｐａｔｈ", "ＰＡＴＨ", "path\x00", "path\x00x", "Path\x00\u00e9"},
		{"password", "paſſword", "PASSWORD", "paßword", "paẞword", "ｐａｓｓｗｏｒｄ"},
		{"key", "\u212aey", "KEY"},
		{"id", "ıd", "İd", "ID", "i\u0307d"},
		{"\u00e5", "a\u030a", "\u212b", "A\u030a"},
		{"ﬁle", "file", "FILE"},
		{"", "\x00", "\x00anything"},
		{"\u03c3", "\u03c2", "\u03a3"},
		{"\u03b1\u0345\u0301", "\u03b1\u0301\u0345", "\u03b1\u03b9\u0301", "\u1fb4", "\u0391\u0399\u0301"},
		{"\u03b1\u0345\u0300", "\u03b1\u0300\u0345", "\u03b1\u03b9\u0300", "\u0391\u0399\u0300"}, // the first of all marks
		{"Ꭰ", "ꭰ"},
		{"①", "1", "１"},
	} {
		for _, a := range names {
			for _, b := range names {
				if !fold.Same(a, b) || !fold.Same([]byte(a), b) || fold.Name(a) != fold.Name(b) {
					t.Errorf("%+q and %+q are told apart: %+q, %+q", a, b, fold.Name(a), fold.Name(b))
				}
			}
		}
	}
}

func TestNamesThatNobodyMistakesAreToldApart(t *testing.T) {
	names := []string{"", "path", "paths", "pat", "pa th", "pa_th", "pa-th", "path ", "раth", "pa\u200bth", "pa\u00adth", "@path", "`path", "[", "{", "az", "@z", "a[", "\x7f", "\u0080", "è", "e", "é", "ż", "z", "ι", "ί"}
	for i, a := range names {
		for _, b := range names[:i] {
			if fold.Same(a, b) || fold.Name(a) == fold.Name(b) {
				t.Errorf("%+q and %+q are taken for one", a, b)
			}
		}
	}
}

// Of every character, whoever changes its case or its form finds it again.
func TestEveryCharacterIsAlikeToItsOtherForms(t *testing.T) {
	for r := rune(1); r <= unicode.MaxRune; r++ {
		if r == 0x20000 { // nothing has a case or another form up there but these
			r = 0x2F800
		}
		if r == 0x2FA20 {
			break
		}
		if !utf8.ValidRune(r) {
			continue
		}
		s := string(r)
		folded := fold.Name(s)
		if again := fold.Name(folded); again != folded {
			t.Errorf("%+q is folded to %+q, and that to %+q", s, folded, again)
		}
		for _, other := range forms(r) {
			if fold.Name(other) != folded {
				t.Errorf("%+q and %+q are told apart: %+q, %+q", s, other, folded, fold.Name(other))
			}
		}
	}
}

func forms(r rune) []string {
	s := string(r)
	all := []string{norm.NFC.String(s), norm.NFD.String(s), norm.NFKC.String(s), norm.NFKD.String(s), cases.Fold().String(s),
		strings.ToLower(s), strings.ToUpper(s), strings.ToTitle(s), string(unicode.ToLower(unicode.ToUpper(r)))}
	for o := unicode.SimpleFold(r); o != r; o = unicode.SimpleFold(o) {
		all = append(all, string(o))
	}
	return all
}

func TestFoldingPlainNamesAllocatesNothing(t *testing.T) {
	dst := make([]byte, 0, 64)
	long, other := []byte("some_Argument_Name"), "SOME_argument_name"
	for what, f := range map[string]func(){
		"Name":   func() { fold.Name("arguments") },
		"Same":   func() { fold.Same(long, other) },
		"Append": func() { fold.Append(dst, long) },
	} {
		if n := testing.AllocsPerRun(100, f); n != 0 {
			t.Errorf("%s allocates %v times", what, n)
		}
	}
}

// merged reports whether encoding/json puts what stands under the key b into a
// field called a.
func merged(a, b string) bool {
	field := reflect.StructField{Name: "F", Type: reflect.TypeFor[int](), Tag: reflect.StructTag("json:" + strconv.Quote(a))}
	fills := func(key string) bool {
		into := reflect.New(reflect.StructOf([]reflect.StructField{field}))
		text, err := json.Marshal(map[string]int{key: 1})
		return err == nil && json.Unmarshal(text, into.Interface()) == nil && into.Elem().Field(0).Int() == 1
	}
	if utf8.RuneCountInString(a) != utf8.RuneCountInString(b) || len(a) > 16 { // every type that is made stays in memory
		return false
	}
	return fills(a) && fills(b) // not every a can be the name of a field
}

// What encoding/json and normalising readers take for one is alike, one step or
// two steps away.
func FuzzSame(f *testing.F) {
	for _, s := range []string{"path", "paſſword", "\u212aey", "α\u0345\u0301", "ﬁ", "İ\u0323", "x\x00y", "ΰ", "\u1e9b\u0323", strings.Repeat("\u0345\u0301", 40)} {
		f.Add(s, strings.ToUpper(s), uint8(3))
	}
	f.Fuzz(func(t *testing.T, a, b string, turn uint8) {
		if !utf8.ValidString(a) || !utf8.ValidString(b) || len(a)+len(b) > 1<<12 {
			t.Skip()
		}
		same := fold.Same(a, b)
		if same != fold.Same(b, a) || same != (fold.Name(a) == fold.Name(b)) || same != fold.Same([]byte(a), []byte(b)) {
			t.Errorf("%+q, %+q: Same and Name do not agree", a, b)
		}
		if (merged(a, b) || strings.EqualFold(a, b) || norm.NFKC.String(a) == norm.NFKC.String(b)) && !same {
			t.Errorf("%+q and %+q are told apart", a, b)
		}
		if fold.Name(fold.Name(a)) != fold.Name(a) {
			t.Errorf("%+q: folding twice is not folding once", a)
		}
		for _, other := range []string{turned(a, turn), turned(norm.NFKC.String(a), turn), norm.NFKC.String(turned(a, turn)), norm.NFD.String(a), a + "\x00" + b} {
			if head, _, _ := strings.Cut(a, "\x00"); other == a+"\x00"+b && head != a {
				continue
			}
			if !fold.Same(a, other) {
				t.Errorf("%+q and %+q are told apart: %+q, %+q", a, other, fold.Name(a), fold.Name(other))
			}
		}
	})
}

// turned is s with some characters in another case, as simple folding has it.
func turned(s string, which uint8) string {
	i := uint8(0)
	return strings.Map(func(r rune) rune {
		i++
		for range (which >> (i % 8)) & 3 {
			r = unicode.SimpleFold(r)
		}
		return r
	}, s)
}
