package bridge

import (
	"encoding/json"
	"errors"
	"net/url"
	"strconv"
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// A call may cause so much work at the validator and no more, counted and never
// timed (FINDINGS M3): a list of many things against many alternatives, a pattern
// against a long text, or a reference that leads to itself twice, took seconds to
// check. What is beyond it is refused. One unit is about a nanosecond.
const maxCheck = 30_000_000

// errTooMuchToCheck refuses arguments that nobody knows to fit or not.
var errTooMuchToCheck = errors.New("there is too much in them to be checked against the tool's inputSchema")

// Work for one thing that the validator does.
const (
	workValue   = 120 // to make a value of JSON text
	workMember  = 480 // to find it a place in an object, and to hold its name against those of the schema
	workVisit   = 600 // to hold a value against a schema
	workCompare = 200 // to compare two values that hold no others
)

// A scale weighs how much the validator would have to do, by going the ways that
// it would go, without looking whether anything fits.
type scale struct {
	root  any
	named map[string]any // by anchor or $id
	words map[string]int // patterns, with their work for a byte
	left  int
}

// weigh reports whether there is work enough left to hold v against schema.
func (s *scale) weigh(schema, v any) bool {
	o, ok := schema.(map[string]any)
	if s.left -= workVisit; s.left < 0 || !ok {
		return s.left >= 0
	}
	s.scalars(o, v)
	for _, word := range []string{"$ref", "$dynamicRef", "$recursiveRef"} {
		if o[word] != nil && !s.refer(o[word], v) {
			return false
		}
	}
	for _, word := range []string{"not", "if", "then", "else"} {
		if o[word] != nil && !s.weigh(o[word], v) {
			return false
		}
	}
	for _, word := range []string{"allOf", "anyOf", "oneOf"} {
		all, _ := o[word].([]any)
		for _, each := range all {
			if !s.weigh(each, v) {
				return false
			}
		}
	}
	switch v := v.(type) {
	case map[string]any:
		return s.object(o, v)
	case []any:
		return s.array(o, v)
	}
	return s.left >= 0
}

// scalars weighs the words that look at a value as a whole.
func (s *scale) scalars(o map[string]any, v any) {
	if all, ok := o["enum"].([]any); ok {
		s.left -= workCompare * len(all) * things(v)
	}
	if o["const"] != nil {
		s.left -= workCompare * things(v)
	}
	if text, ok := v.(string); ok {
		s.left -= len(text)
		s.match(o["pattern"], text)
		if o["format"] != nil {
			s.left -= 50 * len(text)
		}
		if o["contentEncoding"] != nil || o["contentMediaType"] != nil {
			s.left -= 100 * len(text)
		}
	}
	if n, ok := v.(json.Number); ok {
		s.left -= 50 * len(n)
		if strings.ContainsAny(string(n), "eE") {
			s.left -= 50 * maxExponent
		}
	}
}

// match weighs a pattern.
func (s *scale) match(pattern any, text string) {
	p, ok := pattern.(string)
	if !ok {
		return
	}
	perByte, known := s.words[p]
	if !known {
		perByte = policy.MatchWork(p)
		s.words[p] = perByte
	}
	s.left -= perByte * len(text)
}

func (s *scale) object(o, v map[string]any) bool {
	properties, _ := o["properties"].(map[string]any)
	patterns, _ := o["patternProperties"].(map[string]any)
	required, _ := o["required"].([]any)
	s.left -= 20 * len(required)
	for key, each := range v {
		if schema, ok := properties[key]; ok && !s.weigh(schema, each) {
			return false
		}
		for pattern, schema := range patterns {
			if s.match(pattern, key); !s.weigh(schema, each) {
				return false
			}
		}
		for _, word := range []string{"additionalProperties", "unevaluatedProperties"} {
			if _, listed := properties[key]; o[word] != nil && !listed && !s.weigh(o[word], each) {
				return false
			}
		}
		if o["propertyNames"] != nil && !s.weigh(o["propertyNames"], key) {
			return false
		}
	}
	for _, word := range []string{"dependencies", "dependentSchemas", "dependentRequired"} {
		depending, _ := o[word].(map[string]any)
		for key, schema := range depending {
			if _, ok := v[key]; ok && !s.weigh(schema, v) {
				return false
			}
		}
	}
	return s.left >= 0
}

func (s *scale) array(o map[string]any, v []any) bool {
	if o["uniqueItems"] == true {
		// Up to 20 are compared each with each, more by their hashes.
		s.left -= workCompare * things(v) * min(max(len(v), 1), 20)
	}
	for i, each := range v {
		for _, word := range []string{"items", "prefixItems", "additionalItems", "unevaluatedItems", "contains"} {
			schema := o[word]
			if list, ok := schema.([]any); ok {
				if i >= len(list) {
					continue
				}
				schema = list[i]
			}
			if schema != nil && !s.weigh(schema, each) {
				return false
			}
		}
	}
	return s.left >= 0
}

// refer weighs what a reference leads to. One that leads nowhere within the schema
// has no work: the validator has not taken it.
func (s *scale) refer(ref any, v any) bool {
	name, ok := ref.(string)
	if !ok {
		return s.left >= 0
	}
	if named := s.named[name]; named != nil {
		return s.weigh(named, v)
	}
	at, pointer := s.root, strings.TrimPrefix(name, "#")
	for step := range strings.SplitSeq(strings.Trim(pointer, "/"), "/") {
		if decoded, err := url.PathUnescape(step); err == nil {
			step = decoded
		}
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		switch o := at.(type) {
		case map[string]any:
			if step != "" {
				at = o[step]
			}
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(o) {
				return s.left >= 0
			}
			at = o[i]
		}
	}
	return s.weigh(at, v)
}

// anchors finds what is referred to by another name than its place.
func anchors(schema any, into map[string]any) map[string]any {
	switch schema := schema.(type) {
	case map[string]any:
		for _, word := range []string{"$anchor", "$dynamicAnchor"} {
			if name, ok := schema[word].(string); ok {
				into["#"+name] = schema
			}
		}
		if name, ok := schema["$id"].(string); ok {
			into[name] = schema
		}
		for _, each := range schema {
			anchors(each, into)
		}
	case []any:
		for _, each := range schema {
			anchors(each, into)
		}
	}
	return into
}

// things is how many values there are in v, itself included.
func things(v any) int {
	count := 1
	switch v := v.(type) {
	case map[string]any:
		for _, each := range v {
			count += things(each)
		}
	case []any:
		for _, each := range v {
			count += things(each)
		}
	}
	return count
}
