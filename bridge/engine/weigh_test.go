package engine

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/catalog"
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

// manyReferences are n schemas, each of which leads to the next.
func manyReferences(n int) string {
	var all strings.Builder
	for i := range n {
		fmt.Fprintf(&all, `"%d":{"$ref":"#/$defs/%d"},`, i, i+1)
	}
	return all.String() + fmt.Sprintf(`"%d":{"type":"object"}`, n)
}

// Each of these held everybody up while the validator worked (FINDINGS M3).
func TestASchemaHeldEverybodyUp(t *testing.T) {
	alternatives := []string{}
	for i := range 200 {
		alternatives = append(alternatives, fmt.Sprintf(`{"type":"object","required":["k%d"]}`, i))
	}
	twin := `{` + times(`"k":1`, 1) + `,` + times(`"l":[`+times("1", 10_000)+`]`, 1) + `}`
	deep := strings.Repeat(`{"x":`, 40) + `1` + strings.Repeat("}", 40)
	twice := func(ref string) string {
		return `{"anyOf":[{"properties":{"x":{` + ref + `}},"required":["a"]},{"properties":{"x":{` + ref + `}},"required":["b"]}]}`
	}
	for _, c := range []struct{ name, schema, arguments string }{
		{"a pattern against a long text", `{"properties":{"a":{"pattern":".*A[0-9A-Z]{30}b"}}}`, `{"a":"` + strings.Repeat("A", 4<<20) + `"}`},
		{"a pattern against many texts", `{"properties":{"a":{"items":{"pattern":".*A[0-9A-Z]{30}b"}}}}`, `{"a":[` + times(`"`+strings.Repeat("A", 4<<10)+`"`, 1000) + `]}`},
		{"many things against many alternatives", `{"properties":{"a":{"items":{"oneOf":[` + strings.Join(alternatives, ",") + `]}}}}`, `{"a":[` + times(`{}`, 20_000) + `]}`},
		{"alternatives in a list that a reference leads to", `{"$defs":{"l":{"$anchor":"l","items":{"anyOf":[` + strings.Join(alternatives, ",") + `]}}},"properties":{"a":{"$ref":"#l"}}}`, `{"a":[` + times(`{}`, 20_000) + `]}`},
		{"a long list of words", `{"properties":{"a":{"items":{"enum":[` + times(`1.5`, 5000) + `]}}}}`, `{"a":[` + times(`2`, 20_000) + `]}`},
		{"large twins", `{"properties":{"a":{"uniqueItems":true}}}`, `{"a":[` + times(twin, 19) + `]}`},
		{"a reference to itself, twice", `{"$defs":{"n":{"anyOf":[{"properties":{"x":{"$ref":"#/$defs/n"}},"required":["a"]},{"properties":{"x":{"$ref":"#/$defs/n"}},"required":["b"]}]}},"$ref":"#/$defs/n"}`, deep},
		{"a reference to itself by its address, twice", `{"$id":"https://x/r","$ref":"https://x/r#/$defs/n","$defs":{"n":` + twice(`"$ref":"https://x/r#/$defs/n"`) + `}}`, deep},
		{"a reference to itself by a part of its address, twice", `{"$id":"https://x/r","$ref":"#/$defs/n","$defs":{"n":` + twice(`"$ref":"r#/$defs/n"`) + `}}`, deep},
		{"a reference within a schema that is in another, twice", `{"$defs":{"n":{"$id":"https://x/n","$defs":{"n":` + twice(`"$ref":"#/$defs/n"`) + `},"$ref":"#/$defs/n"}},"$ref":"https://x/n"}`, deep},
		{"a reference to an anchor by its address, twice", `{"$id":"https://x/r","$ref":"r#n","$defs":{"n":{"$anchor":"n",` + twice(`"$ref":"r#n"`)[1:] + `}}`, deep},
		{"a dynamic reference to itself, twice", `{"$dynamicAnchor":"n",` + twice(`"$dynamicRef":"#n"`)[1:], deep},
		{"a dynamic reference that the caller's schema means otherwise, twice", `{"$id":"https://x/r","$ref":"list","$defs":{
			"node":{"$dynamicAnchor":"n",` + twice(`"$ref":"list"`)[1:] + `,
			"list":{"$id":"list","$dynamicRef":"#n","$defs":{"n":{"$dynamicAnchor":"n"}}}}}`, deep},
		{"a recursive reference, twice", `{"$schema":"https://json-schema.org/draft/2019-09/schema","$recursiveAnchor":true,` + twice(`"$recursiveRef":"#"`)[1:], deep},
		{"a recursive reference that the caller's schema means otherwise, twice", `{"$schema":"https://json-schema.org/draft/2019-09/schema","$id":"https://x/r","$ref":"#/$defs/node","$defs":{
			"node":{"$id":"node","$recursiveAnchor":true,` + twice(`"$ref":"list"`)[1:] + `,
			"list":{"$id":"list","$recursiveAnchor":true,"$recursiveRef":"#"}}}`, deep},
		{"what depends on a member, twice", `{"$schema":"http://json-schema.org/draft-07/schema#","definitions":{"n":{"dependencies":{"x":` + twice(`"$ref":"#/definitions/n"`) + `}}},"allOf":[{"$ref":"#/definitions/n"}]}`, deep},
		{"a way of many references", `{"$ref":"#/$defs/0","$defs":{` + manyReferences(4000) + `}}`, `{}`},
		{"many members, and many alternatives that say nothing of them", `{"anyOf":[` + strings.Join(alternatives, ",") + `]}`, `{` + manyNames(30_000) + `,"k":[` + times(`{}`, 1) + `]}`},
		{"many members, and which are left", `{"unevaluatedProperties":true,"anyOf":[` + strings.Join(alternatives[:80], ",") + `]}`, `{` + manyNames(20_000) + `}`},
		{"a list of long numbers", `{"properties":{"a":{"items":{"enum":[` + times(`1.`+strings.Repeat("5", 900), 1000) + `]}}}}`, `{"a":[` + times(`2.5`, 100) + `]}`},
		{"many members of which nothing is said", `{"properties":{"a":{"minProperties":1}}}`, `{"a":{` + manyNames(60_000) + `}}`},
		{"escapes", `{"properties":{"a":{"maxLength":9000000}}}`, `{"a":"` + strings.Repeat(`\u00e9`, 2_500_000) + `"}`},
		{"many things", `{"properties":{"a":{"items":{"type":"integer"}}}}`, `{"a":[` + times(`1`, 250_000) + `]}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			check, err := catalog.CompileSchema([]byte(c.schema))
			if err != nil {
				t.Fatal(err)
			}
			checked := make(chan error, 1)
			go func() { checked <- check([]byte(c.arguments)) }()
			select {
			case err := <-checked:
				if !errors.Is(err, catalog.ErrTooMuchToCheck) {
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
		{`{"properties":{"mode":{"enum":["w"]},"a":{"maxLength":16000000}}}`, `{"a":"` + strings.Repeat("A", 15<<20) + `","mode":"w"}`},
		{`{"properties":{"a":{"pattern":"^[a-z0-9+/=]*$"}}}`, `{"a":"` + strings.Repeat("a", 256<<10) + `"}`},
		{`{"$defs":{"n/m":{"type":"object","properties":{"x":{"$ref":"#/$defs/n~1m"}}}},"$ref":"#/$defs/n~1m"}`, strings.Repeat(`{"x":`, 40) + `{}` + strings.Repeat("}", 40)},
		{`{"properties":{"schema":{"$ref":"https://json-schema.org/draft/2020-12/schema"}}}`, `{"schema":{"type":"object","properties":{"a":{"type":"array","items":{"type":"object","properties":{"b":{"type":"string"}}}}}}}`},
		{`{"anyOf":[{"type":"object"},{"$ref":"#"}]}`, `{}`},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","$ref":"#/definitions/n","definitions":{"n":{"properties":{"x":{"$ref":"#/definitions/n"}},"additionalProperties":false}}}`, strings.Repeat(`{"x":`, 40) + `{}` + strings.Repeat("}", 40)},
		{`{"properties":{"a":{"items":{"type":"integer","enum":[1,2,3]},"uniqueItems":false}}}`, `{"a":[` + times(`1`, 10_000) + `]}`},
	} {
		check, err := catalog.CompileSchema([]byte(c.schema))
		if err == nil {
			err = check([]byte(c.arguments))
		}
		if err != nil {
			t.Errorf("%s: %v", c.schema, err)
		}
	}
}
