package jsonrpc

import "testing"

func TestLooselyTakesForOneWhatSomebodyDoes(t *testing.T) {
	for _, same := range [][]string{
		{`1`, `1.0`, `10e-1`, `"1"`, `"\u0031"`, `" 1 "`, `"0x1"`, `1.00000000000000000001`},
		{`0`, `-0`, `0.0`, `""`, `"0"`},
		{`"a/b"`, `"a\/b"`, `"\u0061/b"`},
	} {
		for _, id := range same {
			if got, want := Loosely([]byte(id)), Loosely([]byte(same[0])); got != want {
				t.Errorf("%s is %q, but %s is %q", id, got, same[0], want)
			}
		}
	}
	seen := map[string]string{}
	for _, id := range []string{``, `0`, `1`, `-1`, `1.5`, `11`, `"a"`, `"A"`, `null`, `"nan"`, `"inf"`, `9007199254740992`, `9007199254740993`, `1e999`} {
		text := Loosely([]byte(id))
		if other, again := seen[text]; again {
			t.Errorf("%s and %s are both %q", id, other, text)
		}
		seen[text] = id
	}
}
