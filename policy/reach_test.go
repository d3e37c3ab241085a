package policy_test

import "testing"

func TestReachSaysWhoCanRead(t *testing.T) {
	for _, c := range []struct{ text, read, prompt string }{
		{"default: deny\n", "denied", "denied"},
		{"default: ask\nrules: [{allow: '*'}]\n", "asked about", "asked about"},
		{"default: allow\n", "allowed", "allowed"},
		{"default: ask\nrules: [{name: r, deny: '*', methods: ['resources/*']}]\n", "denied", "asked about"},
		{"default: deny\nrules: [{name: r, allow: '*', methods: [resources/read]}, {name: s, ask: '*', methods: '*'}]\n", "asked about", "asked about"},
		{"default: deny\napprovers: {ops: [ann, bob]}\nrules:\n- {name: r, allow: '*', from: [ops, 'x-*'], methods: [resources/read, prompts/get]}\n",
			"denied; allowed to x-*, ann, bob (rule r (line 4))", "denied; allowed to x-*, ann, bob (rule r (line 4))"},
		{"default: allow\nrules:\n- {name: r, ask: '*', from: eve, methods: resources/read}\n- {name: s, deny: 'joke*', methods: prompts/get}\n",
			"allowed; asked about for eve (rule r (line 3))", "allowed; denied in the cases of rule s (line 4)"},
		{"default: deny\nrules:\n- {name: r, allow: '*', methods: '*', args: {uri: {under: /a}}}\n- {name: s, allow: 'hello', methods: '*'}\n",
			"denied; allowed in the cases of rule r (line 3)", "denied; allowed in the cases of rule r (line 3); allowed in the cases of rule s (line 4)"},
	} {
		p := load(t, c.text)
		if read, prompt := p.Reach("resources/read"), p.Reach("prompts/get"); read != c.read || prompt != c.prompt {
			t.Errorf("%sresources: %s, want %s\nprompts: %s, want %s", c.text, read, c.read, prompt, c.prompt)
		}
	}
}
