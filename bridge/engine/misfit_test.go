package engine

import (
	"fmt"
	"strings"
	"testing"
)

// What redact hides stood in the reason for which arguments do not fit: to all in the
// topic, and on record (RELIABILITY AI-24). What is wrong, and where, is still said.
func TestWhatIsHiddenIsNotInTheReasonEither(t *testing.T) {
	for _, c := range []struct{ schema, arguments, says string }{
		{`{"properties":{"password":{"type":"string","pattern":"^[a-z]+$"}}}`, `{"password":"HUNTER2"}`, `at '/password': pattern`},
		{`{"properties":{"note":{"pattern":"^[a-z]+$"}}}`, `{"note":"HUNTER2"}`, `at '/note': it does not match the pattern '^[a-z]+$'`},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"note":{"format":"email"}}}`, `{"note":"HUNTER2"}`, `at '/note': it is not valid email`},
		{`{"properties":{"n":{"minimum":5}}}`, `{"n":-481516}`, `at '/n': minimum: want 5`},
		{`{"properties":{"n":{"multipleOf":0.5}}}`, `{"n":481516.3}`, `at '/n': multipleOf: want 0.5`},
		{`{"properties":{"note":{"minLength":8}}}`, `{"note":"HUNTER2"}`, `at '/note': minLength: want 8`},
		{`{"properties":{"secret":{"additionalProperties":false}}}`, `{"secret":{"HUNTER2":1}}`, `at '/secret': additionalProperties`},
		{`{"properties":{"secret":{"propertyNames":{"maxLength":3}}}}`, `{"secret":{"HUNTER2":1}}`, `at '/secret': propertyNames`},
		{`{"properties":{"secret":{"additionalProperties":{"type":"object"}}}}`, `{"secret":{"HUNTER2":1}}`, `at '/secret': type`},
		{`{"properties":{"secret":{"items":{"properties":{"hunter2":{}}}}}}`, `{"secret":[{"HUNTER2":1}]}`, `at '/secret': `},
		{`{"properties":{"secret":{"properties":{"n":{"minimum":5}}}}}`, `{"secret":{"n":1e4815162}}`, `at '/secret': `},
		{`{"properties":{"n":{"propertyNames":{"maxLength":3}}}}`, `{"n":{"shown":1}}`, `at '/n': invalid propertyName 'shown'`},
	} {
		for _, road := range []string{"call", "proposal"} {
			s := proposalStage(t, "mew/v0.4", "fulfil: ask")
			s.said(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
			s.answerListing(fmt.Sprintf(`{"tools":[{"name":"read_file","inputSchema":%s}]}`, c.schema))
			s.notes, s.frames = nil, nil
			if road == "call" {
				s.asksFor("bob", "e1", "7", "read_file", c.arguments, "")
			} else {
				s.proposes("bob", "p1", "fs", "read_file", c.arguments, "")
			}
			var said strings.Builder
			said.WriteString(strings.Join(s.frames, "\n"))
			for _, r := range s.notes {
				said.WriteString("\n" + string(r.JSON()))
			}
			if !strings.Contains(said.String(), c.says) || s.asked() != 0 {
				t.Errorf("%s of %s against %s, want %q:\n%s", road, c.arguments, c.schema, c.says, said.String())
			}
			for _, hidden := range []string{"HUNTER2", "481516", "got 7"} {
				if strings.Contains(said.String(), hidden) {
					t.Errorf("%s of %s against %s:\n%s", road, c.arguments, c.schema, said.String())
				}
			}
		}
	}
}
