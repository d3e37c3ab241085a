package arguments_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/arguments"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

const typedSchema = `{"type":"object","properties":{
	"s":{"type":"string"}, "i":{"type":"integer"}, "n":{"type":"number"}, "b":{"type":"boolean"},
	"o":{"type":"object"}, "a":{"type":"array"}, "sn":{"type":["string","null"]}, "in":{"type":["integer","null"]}, "any":{}, "ref":{"$ref":"#/x"}}}`

func TestArgumentsGetTheTypesOfTheSchema(t *testing.T) {
	types := arguments.TypesOf([]byte(typedSchema))
	for arg, want := range map[string]string{
		"s=7":                   `"7"`,
		"s=":                    `""`,
		`s=a"b`:                 `"a\"b"`,
		"s:=7":                  `7`,
		"i=7":                   `7`,
		"i=-7":                  `-7`,
		"i=9007199254740993":    `9007199254740993`,
		"i=7.5":                 "",
		"i=x":                   "",
		"n=7":                   `7`,
		"n=7.50":                `7.50`,
		"b=true":                `true`,
		"b=yes":                 "",
		`o={"x": 1}`:            `{"x": 1}`,
		"o=[1]":                 "",
		"a=[1]":                 `[1]`,
		"sn=null":               `"null"`,
		"in=null":               `null`,
		"any=7":                 `"7"`,
		"ref=7":                 `"7"`,
		"unknown=7":             `"7"`,
		`unknown:={"a":[true]}`: `{"a":[true]}`,
	} {
		given, err := arguments.Read([]string{arg}, nil)
		if err != nil {
			t.Errorf("%s: %v", arg, err)
			continue
		}
		name, _, _ := strings.Cut(arg, "=")
		if want != "" {
			want = `{"` + strings.TrimSuffix(name, ":") + `":` + want + "}"
		}
		got, err := given.Object(types)
		if string(got) != want || (err != nil) != (want == "") {
			t.Errorf("%s: %s %v, want %s", arg, got, err, want)
		}
	}
}

func TestArgumentsThatAreRefused(t *testing.T) {
	for _, words := range [][]string{{"word"}, {"=x"}, {":=1"}, {"a=1", "a=2"}, {"a:=x"}, {"[1]"}, {`{"a":1`}, {`{"a":1,"a":2}`}, {`{"a":1}`, "b=2"}, {`"[1]"`}, {`"7"`}, {`"{}`}, {`"{\"a\":1,\"a\":2}"`}, {`"{\"a\":\"\ud83d\"}"`}, {`"\"{}\""`}, {`"{}"`, "b=2"},
		{strings.Repeat(`{"a":`, 61) + "1" + strings.Repeat("}", 61)}} {
		if _, err := arguments.Read(words, nil); err == nil {
			t.Errorf("%q was taken", words)
		}
	}
}

// "a is all twice", it said, after a variable had another name.
func TestAnArgumentThatIsGivenTwiceIsCalledThat(t *testing.T) {
	if _, err := arguments.Read([]string{"a=1", "a=2"}, nil); err == nil || err.Error() != "a is given twice" {
		t.Errorf("%v", err)
	}
}

func TestWhatNoSchemaSaysGoesByItsLooks(t *testing.T) {
	for word, want := range map[string]string{"a=7": `{"a":7}`, "a=7.5": `{"a":7.5}`, "a=true": `{"a":true}`, "a=null": `{"a":"null"}`, "a=[1]": `{"a":"[1]"}`, "a=x": `{"a":"x"}`, "a:=[1]": `{"a":[1]}`, `{"a":"7"}`: `{"a":"7"}`} {
		given, err := arguments.Read([]string{word}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := given.Guessed(); err != nil || string(got) != want {
			t.Errorf("%s: %s %v, want %s", word, got, err, want)
		}
	}
}

// How deep the arguments of a call may be: what goes around them counts too.
func TestHowDeepArgumentsMayBe(t *testing.T) {
	for n, fits := range map[int]bool{58: true, 59: true, 60: false} {
		object := `{"a":` + strings.Repeat("[", n) + strings.Repeat("]", n) + `}`
		for name, words := range map[string][]string{"an object": {object}, "a pair": {"a:=" + object[5:len(object)-1]}, "text that holds one": {fmt.Sprintf("%q", object)}, "on stdin": {"-"}} {
			given, err := arguments.Read(words, strings.NewReader(object))
			if err == nil {
				_, err = given.Object(nil)
			}
			if (err == nil) != fits {
				t.Errorf("%s, %d deep: %v", name, n, err)
			}
		}
	}
}

// What stands on the command line becomes one strict object, or an error that
// says what to write.
func FuzzArguments(f *testing.F) {
	for _, line := range []string{"a=b", "a:=1\nb=c=d", `{"a":1}`, "a=1\na:=2", "=x", ":=1", "a:=", "a:={\"x\":1,\"x\":2}", "-", "n= 7 ", "n=-0", "\xff=\xfe", "a\x00=b", "n=1e400", "{\"a\":1}\nb=c", `"{\"a\":1}"`, `"{\"a\":1,\"a\":2}"`, `""`, `"7"`, `"\ud83d"`, `"\"{}\""`} {
		f.Add(line, `{"properties":{"a":{"type":"string"},"n":{"type":["integer","null"]}}}`)
		f.Add(line, `{"properties":[]}`)
	}
	f.Fuzz(func(t *testing.T, line, schema string) {
		given, err := arguments.Read(strings.Split(line, "\n"), strings.NewReader(schema))
		if err != nil {
			return
		}
		object, err := given.Object(arguments.TypesOf([]byte(schema)))
		if err != nil {
			return
		}
		if err := jsonrpc.Scan(object, jsonrpc.Judged, nil, nil); err != nil {
			t.Errorf("%q becomes %q: %v", line, object, err)
		}
	})
}
