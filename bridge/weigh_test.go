package bridge

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// times is n times one, with commas between.
func times(one string, n int) string { return strings.TrimSuffix(strings.Repeat(one+",", n), ",") }

// manyNames are n members with names of their own.
func manyNames(n int) string {
	var all strings.Builder
	for i := range n {
		fmt.Fprintf(&all, `"k%d":1,`, i)
	}
	return strings.TrimSuffix(all.String(), ",")
}

// Each of these held everybody up while the validator worked (FINDINGS M3).
func TestASchemaHeldEverybodyUp(t *testing.T) {
	alternatives := []string{}
	for i := range 200 {
		alternatives = append(alternatives, fmt.Sprintf(`{"type":"object","required":["k%d"]}`, i))
	}
	twin := `{` + times(`"k":1`, 1) + `,` + times(`"l":[`+times("1", 10_000)+`]`, 1) + `}`
	deep := strings.Repeat(`{"x":`, 40) + `1` + strings.Repeat("}", 40)
	for _, c := range []struct{ name, schema, arguments string }{
		{"a pattern against a long text", `{"properties":{"a":{"pattern":".*A[0-9A-Z]{30}b"}}}`, `{"a":"` + strings.Repeat("A", 4<<20) + `"}`},
		{"a pattern against many texts", `{"properties":{"a":{"items":{"pattern":".*A[0-9A-Z]{30}b"}}}}`, `{"a":[` + times(`"`+strings.Repeat("A", 4<<10)+`"`, 1000) + `]}`},
		{"many things against many alternatives", `{"properties":{"a":{"items":{"oneOf":[` + strings.Join(alternatives, ",") + `]}}}}`, `{"a":[` + times(`{}`, 20_000) + `]}`},
		{"alternatives in a list that a reference leads to", `{"$defs":{"l":{"$anchor":"l","items":{"anyOf":[` + strings.Join(alternatives, ",") + `]}}},"properties":{"a":{"$ref":"#l"}}}`, `{"a":[` + times(`{}`, 20_000) + `]}`},
		{"a long list of words", `{"properties":{"a":{"items":{"enum":[` + times(`1.5`, 5000) + `]}}}}`, `{"a":[` + times(`2`, 20_000) + `]}`},
		{"large twins", `{"properties":{"a":{"uniqueItems":true}}}`, `{"a":[` + times(twin, 19) + `]}`},
		{"a reference to itself, twice", `{"$defs":{"n":{"anyOf":[{"properties":{"x":{"$ref":"#/$defs/n"}},"required":["a"]},{"properties":{"x":{"$ref":"#/$defs/n"}},"required":["b"]}]}},"$ref":"#/$defs/n"}`, deep},
		{"many members of which nothing is said", `{"properties":{"a":{"minProperties":1}}}`, `{"a":{` + manyNames(60_000) + `}}`},
		{"many things", `{"properties":{"a":{"items":{"type":"integer"}}}}`, `{"a":[` + times(`1`, 250_000) + `]}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			check, err := compileSchema([]byte(c.schema))
			if err != nil {
				t.Fatal(err)
			}
			checked := make(chan error, 1)
			go func() { checked <- check([]byte(c.arguments)) }()
			select {
			case err := <-checked:
				if !errors.Is(err, errTooMuchToCheck) {
					t.Errorf("got %v", err)
				}
			case <-time.After(20 * time.Second): // it would take longer than anybody waits
				t.Fatal("it is still being checked")
			}
		})
	}
}

func TestWhatIsLargeButSimpleIsChecked(t *testing.T) {
	for _, c := range []struct{ schema, arguments string }{
		{`{"properties":{"a":{"maxLength":9000000}}}`, `{"a":"` + strings.Repeat("A", 8<<20) + `"}`},
		{`{"properties":{"a":{"pattern":"^[a-z0-9+/=]*$"}}}`, `{"a":"` + strings.Repeat("a", 256<<10) + `"}`},
		{`{"$defs":{"n/m":{"type":"object","properties":{"x":{"$ref":"#/$defs/n~1m"}}}},"$ref":"#/$defs/n~1m"}`, strings.Repeat(`{"x":`, 40) + `{}` + strings.Repeat("}", 40)},
		{`{"properties":{"a":{"items":{"type":"integer","enum":[1,2,3]},"uniqueItems":false}}}`, `{"a":[` + times(`1`, 10_000) + `]}`},
	} {
		check, err := compileSchema([]byte(c.schema))
		if err == nil {
			err = check([]byte(c.arguments))
		}
		if err != nil {
			t.Errorf("%s: %v", c.schema, err)
		}
	}
}
