package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/client"
)

const typedSchema = `{"type":"object","properties":{
	"s":{"type":"string"}, "i":{"type":"integer"}, "n":{"type":"number"}, "b":{"type":"boolean"},
	"o":{"type":"object"}, "a":{"type":"array"}, "sn":{"type":["string","null"]}, "in":{"type":["integer","null"]}, "any":{}, "ref":{"$ref":"#/x"}}}`

func TestArgumentsGetTheTypesOfTheSchema(t *testing.T) {
	types := schemaTypes([]byte(typedSchema))
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
		given, err := (&program{}).readArguments([]string{arg})
		if err != nil {
			t.Errorf("%s: %v", arg, err)
			continue
		}
		got, err := given.pairs[0].json(types[given.pairs[0].key])
		if string(got) != want || (err != nil) != (want == "") {
			t.Errorf("%s: %s %v, want %s", arg, got, err, want)
		}
	}
}

func TestArgumentsThatAreRefused(t *testing.T) {
	for _, args := range [][]string{{"word"}, {"=x"}, {":=1"}, {"a=1", "a=2"}, {"a:=x"}, {"[1]"}, {`{"a":1`}, {`{"a":1,"a":2}`}, {`{"a":1}`, "b=2"}, {`"[1]"`}, {`"7"`}, {`"{}`}, {`"{\"a\":1,\"a\":2}"`}, {`"{\"a\":\"\ud83d\"}"`}, {`"\"{}\""`}, {`"{}"`, "b=2"},
		{strings.Repeat(`{"a":`, 61) + "1" + strings.Repeat("}", 61)}} {
		if _, err := (&program{}).readArguments(args); err == nil {
			t.Errorf("%q was taken", args)
		}
	}
}

// Another text in the place of bytes that JSON cannot hold would be a call, or a
// judgement, that nobody asked for.
func TestArgumentsAreText(t *testing.T) {
	for _, args := range [][]string{{"call", "fs", "x\x80"}, {"call", "fs", "x", "a=\x80"}, {"propose", "x", "\xff=1"}, {"propose", "x", "a:=\"\x80\""},
		{"policy", "explain", "--policy", "p.yaml", strings.Repeat("\x80", 100)}, {"policy", "explain", "--policy", "p.yaml", "--method", "a\x80"},
		{"approvals", "deny", "3f2a", "--reason", "\xff"}, {"approvals", "allow", "3f2a", "--reason", "\xff"}, {"withdraw", "x", "--reason", "\x80"}, {"policy", "explain", "--policy", "p.yaml", "x", `{"a":"` + "\x80" + `"}`}} {
		var out, errs bytes.Buffer
		code := run(t.Context(), args, env{stdin: strings.NewReader(""), stdout: &out, stderr: &errs,
			getenv: func(string) string { return "" }, environ: func() []string { return nil }})
		if code != exitMisused || out.Len() > 0 || !strings.Contains(errs.String(), "is not valid UTF-8") {
			t.Errorf("%q: exit %d, %s%s", args, code, &out, &errs)
		}
	}
}

func TestRefusalsHaveTheirExitCodes(t *testing.T) {
	for code, want := range map[int]int{-31001: 8, -31002: 9, -31004: 8, -31005: 8, -31006: 8, -31007: 8, -31008: 9, -31010: 9, -31014: 8, -32602: 1, -32050: 1, 7: 1} {
		if got := client.ExitOf(code); got != want {
			t.Errorf("%d: exit code %d, want %d", code, got, want)
		}
	}
	for raw, want := range map[string]string{
		`{"code":-31004,"message":"no","data":{"reason":"policy_denied"}}`: "fs refused x: no (policy_denied)",
		`{"code":-32050,"message":"m","data":"text"}`:                      "fs answers x with an error: m (-32050)",
		`{"code":-31004,"message":"no","data":[1]}`:                        "fs refused x: no ()",
		`"broken"`: "fs answers x with an error that cannot be read",
	} {
		if got := client.ErrorOf("fs", "x", []byte(raw)).Error(); got != want {
			t.Errorf("%s: %q, want %q", raw, got, want)
		}
	}
}

// JSON has one kind of number, and a peer may write -31004 as -31004.0: the refusal could
// not be read, and the exit code was 1.
func TestACodeIsANumberHoweverItIsSpelled(t *testing.T) {
	for code, want := range map[string]int{"-31004.0": exitRefused, "-3.1004e4": exitRefused, "-310020E-1": exitNoAnswer, "-31004.5": exitFailed, `"-31004"`: exitFailed} {
		for _, data := range []string{`{"reason":"policy_denied"}`, `"text"`} {
			err := client.ErrorOf("fs", "x", []byte(`{"code":`+code+`,"message":"no","data":`+data+`}`))
			if f, ok := errors.AsType[*failure](err); !ok || f.Exit != want {
				t.Errorf("%s: want exit code %d: %#v", code, want, err)
			}
		}
	}
}
