package policy

import (
	"fmt"
	"strings"
	"testing"
)

// Brackets within quotes and comments counted as nesting, and a policy of 250 rules whose
// words have one was refused. Those that nest still count, whatever stands between them.
func TestBracketsInTextsAreNoNesting(t *testing.T) {
	var text strings.Builder
	text.WriteString("version: 1\ndefault: deny\nrules:\n")
	for i := range 250 {
		text.WriteString(fmt.Sprintf(" - {name: r%d, allow: [tool%d], say: \"see note [%d\"} # [{\n", i, i, i))
	}
	if _, err := Load("p.yaml", []byte(text.String())); err != nil {
		t.Error(err)
	}
	for _, deep := range []string{
		"default: " + strings.Repeat("[\"]\", # ]\n ", maxNesting+1),
		"default: " + strings.Repeat("{a: ']}', b: ", maxNesting+1),
		"]]]]]]]]\ndefault: " + strings.Repeat("[", maxNesting+1),
	} {
		if _, err := Load("p.yaml", []byte(deep)); err == nil || !strings.Contains(err.Error(), "nested too deeply") {
			t.Errorf("%.40q: %v", deep, err)
		}
	}
}
