package sim

import "testing"

// Somebody brings, for one question, a signature under the statement of another. It counts for
// nothing there, and uses up nothing: for its own question it counts, and that once (seed 91119286).
func TestASignatureIsUsedUpByItsOwnQuestionAlone(t *testing.T) {
	for _, first := range []string{"another", "q"} {
		c := aChecker()
		cl := &claim{said: said{from: "agent-a"}, question: "q"}
		c.questions["q"], c.local["q"] = cl, "d1"
		c.questions["another"], c.local["another"] = &claim{said: said{from: "agent-a"}, question: "another"}, "d2"
		statement := []byte(`{"question":"q","from":"agent-a","digest":"d1"}`)
		c.drafted("q", statement, "")
		for _, question := range []string{first, "q", "q"} {
			c.signedAnswer(question, statement, true)
		}
		if len(cl.votes) != 1 || len(c.questions["another"].votes) != 0 {
			t.Errorf("brought for %s first, it counts %d times, and for another question %d times", first, len(cl.votes), len(c.questions["another"].votes))
		}
	}
}
