package desktop

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// asked takes a question. One that is too long for a client's dialog is not cut:
// it is answered where it can be read.
func (f *Proxy) asked(q Question) {
	asked := &question{Question: q}
	if asked.size() > maxShown {
		asked.failed = true
		f.do(Note{Text: "a question is too long for the client; mcpx-bridge approve shows it: " + q.Digest, By: q.Bridge})
	}
	f.questions = append(f.questions, asked)
}

// size is how many bytes a client is to show.
func (q *question) size() int { return len(q.Text) + len(q.Schema()) }

func (f *Proxy) openDialog(q *question) {
	f.dialogged++
	id := "mcpx-question-" + strconv.Itoa(f.dialogged)
	f.dialogs[id] = q
	q.shown = true
	f.say(jsonrpc.AppendRequest(nil, jsonrpc.AppendQuote(nil, id), methodElicit, compose(q.form())))
}

// form are the parameters of the elicitation.
func (q *question) form() mcp.ElicitationParams {
	words := q.Text
	if q.pause > 0 {
		words = "Please answer again: your answer could not be sent\n" + words
	}
	return mcp.ElicitationParams{Message: words, RequestedSchema: json.RawMessage(q.Schema())}
}

func (f *Proxy) dialogAnswered(m *jsonrpc.Message) {
	id, _ := jsonrpc.Unquote(m.Get(jsonrpc.ID))
	q := f.dialogs[id]
	if q == nil {
		return // it came too late, or nobody asked
	}
	delete(f.dialogs, id)
	if result := m.Get(jsonrpc.Result); m.Has(jsonrpc.Result) && isObject(result) {
		f.decide(q, result)
		return
	}
	q.failed = true
	f.do(Note{Text: "the client could not put a question to its person; mcpx-bridge approve can", By: q.Bridge})
}

// decide passes the client's answer on. What is not a choice of those offered is a no. What
// became of it is not said before that is known: somebody else may have been first.
func (f *Proxy) decide(q *question, result []byte) {
	r, said := q.read(result)
	f.closeDialogOf(q)
	q.again.stop()
	q.shown, q.said = true, said
	f.do(Decide{q.ID, r})
}

// askAgain ends the pause of questions whose answers could not be sent, as now they may be: of those
// of one bridge, or with "" of all.
func (f *Proxy) askAgain(bridge string) {
	for _, q := range f.questions {
		if q.again != nil && q.again.Stands() && (bridge == "" || q.Bridge == bridge) {
			q.again.stop()
			q.shown = false
		}
	}
}

// notAsked is what became of a question that ended elsewhere.
const notAsked = "no longer asked"

// endQuestion tells those that wait for it what became of a question.
func (f *Proxy) endQuestion(q *question, how string) {
	f.questions = slices.DeleteFunc(f.questions, func(other *question) bool { return other == q })
	f.closeDialogOf(q)
	q.again.stop()
	for _, r := range f.requests {
		if r.answers {
			r.settled = append(r.settled, fmt.Sprintf("[%s] %s", q.Digest, how))
		}
	}
}

// read is the answer, and what is said of it to the model, which is nothing that a
// stranger wrote.
func (q *question) read(result []byte) (r approval.Reply, said string) {
	r, problem := q.Read(result)
	switch {
	case problem != "":
		return approval.Reply{Reason: problem}, "the answer was no valid one, so it is a no"
	case r.Dismiss:
		said = "closed without an answer, so it is a no"
	case r.To != "":
		said = "passed on to " + clip(r.To, 80)
	case len(r.Fields) > 0:
		said = "allowed with changes"
	case r.Allow:
		said = "allowed"
	default:
		said = "denied"
	}
	return r, said
}

// settled: a question is none any more.
func (f *Proxy) settled(id string) {
	if i := slices.IndexFunc(f.questions, func(q *question) bool { return q.ID == id }); i >= 0 {
		f.endQuestion(f.questions[i], notAsked)
	}
}

func (f *Proxy) closeDialogOf(q *question) {
	for id, open := range f.dialogs {
		if open == q {
			f.closeDialog(id)
			return
		}
	}
}
