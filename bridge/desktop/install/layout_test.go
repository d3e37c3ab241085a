package install

import (
	"fmt"
	"strings"
)

// line ends a line, now and then with a comment, and has blank and comment
// lines follow.
func (w *writer) line(in string) {
	w.WriteString(w.one("", "", " # é: [", "  "))
	w.WriteString("\n")
	for range w.IntN(4) / 2 {
		w.WriteString(w.one("", in+"# a: b", "# [x]", "  ") + "\n")
	}
}

// toml makes up a file of Codex's.
func (w *writer) toml() {
	w.WriteString(w.one("", "# mine\n", "model = \"o\"\n", "\n\n", "[tui]\nx = [\n  1, # y\n]\n"))
	for i := range w.IntN(4) {
		name := w.one(fmt.Sprintf("s%d", i), fmt.Sprintf("\"s %d\"", i))
		in := w.one("", "", "  ", "\t")
		command := w.one(`"c"`, `'c'`, `"""c"""`, `"\u0063 é😀"`)
		args := w.one("[]", `["a"]`, `[ "a" , 'b', ]`, "[\n  \"a\", # x ]\n  'b'\n]", "[\n]", `["--", "]"]`)
		if w.IntN(4) == 0 {
			w.WriteString("[mcp_servers." + name + ".env]\nK = 'v'\n")
		}
		w.WriteString(w.one("[mcp_servers."+name+"]", "[ mcp_servers . "+name+" ]"))
		w.line(in)
		members := []string{"command = " + command, w.one("", "args="+args, "args = "+args), w.one("", "env2 = { A = \"b\", args = [1.5] }", "enabled = true")}
		w.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
		for _, m := range members {
			if m != "" {
				w.WriteString(in + m)
				w.line(in)
			}
		}
	}
	if w.IntN(3) == 0 {
		w.WriteString("[z]\na.b = 2026-01-02\n")
	}
}

// yaml makes up a file of Goose's.
func (w *writer) yaml() {
	w.WriteString(w.one("", "# mine\n", "---\n", "A: |\n  text\n  # text\n\nB: é\n", "L:\n- 1\n- {a: b}\n"))
	n := w.IntN(4)
	switch {
	case n > 0:
		w.WriteString("extensions:")
		w.line("  ")
	case w.IntN(2) == 0:
		w.WriteString(w.one("extensions: {}\n", "extensions:\n", "extensions: {} # none\n"))
	}
	in := w.one("  ", "    ", " ")
	for i := range n {
		w.WriteString(in + w.one(fmt.Sprintf("s%d", i), fmt.Sprintf("'s %d'", i)) + ":")
		w.line(in)
		w.yamlServer(in + w.one("  ", "    "))
	}
	w.WriteString(w.one("", "Z: last\n", "# the end\nZ:\n  args: [1]\n", "\n# é\n"))
}

func (w *writer) yamlServer(in string) {
	list := in + w.one("", "  ")
	args := w.one("", "args: []", "args: [a, 'b c' , \"d\"]", "args: [a,\n"+in+"  b]", "args:\n"+list+"- -y # x\n"+list+"- 'it''s'\n"+list+"- \"q\\\"\"", "args: # x\n"+list+"-   é")
	members := []string{"cmd: " + w.one("c", "'c'", "\"c\"", "c d", "é/c"), args, w.one("", "description: >\n"+in+"  cmd: no\n"+in+"  args"), "envs: {cmd: no}", "timeout: 300"}
	w.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	for _, m := range members {
		if m == "" {
			continue
		}
		w.WriteString(in + m)
		if strings.Contains(m, "description") {
			w.WriteString("\n") // a comment would be text there
			continue
		}
		w.line(in)
	}
}
