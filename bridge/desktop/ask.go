package desktop

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// A question waits for the person at the client.
type question struct {
	Question
	shown  bool // the client has it before its person
	failed bool // the client could not; it is answered elsewhere
}

// A round is an answer input_required of the modern revision: the client comes
// again with the same call, and with answers to what was asked.
type round struct {
	what    string      // the call that it has to come with
	call    *call       // nil if it was one of our own
	offered []*question // by their keys in the answer
	late    *alarm      // when it is over
}

// asked takes a question. One that is too long for a client's dialog is not cut:
// it is answered where it can be read.
func (f *Proxy) asked(q Question) {
	long := len(q.Text)+len(q.Schema()) > maxShown
	if long {
		f.note("a question is too long for the client; mcpx-bridge approve shows it: " + q.Digest)
	}
	f.questions = append(f.questions, &question{Question: q, failed: long})
}

// putQuestions puts questions before the person, where a call of the client's
// is under way: MCP has none that come by themselves.
func (f *Proxy) putQuestions() {
	if f.client.elicits && f.host(false) != nil {
		for _, q := range f.questions {
			if !q.shown && !q.failed && len(f.dialogs) < maxDialogs {
				f.openDialog(q)
			}
		}
	}
	if r := f.host(true); r != nil {
		f.offer(r)
	}
	f.checkApprovals()
}

// host is a request under way in which the person may be asked something.
func (f *Proxy) host(modern bool) (first *request) {
	for _, r := range f.requests {
		if r.modern == modern && r.elicits && (r.call != nil || r.answers) && (first == nil || r.seq < first.seq) {
			first = r
		}
	}
	return first
}

func (f *Proxy) openDialog(q *question) {
	f.dialogged++
	id := "mcpx-question-" + strconv.Itoa(f.dialogged)
	f.dialogs[id] = q
	q.shown = true
	f.say(jsonrpc.AppendRequest(nil, jsonrpc.AppendQuote(nil, id), methodElicit, compose(q.form())))
}

// form are the parameters of the elicitation.
func (q *question) form() mcp.ElicitationParams {
	return mcp.ElicitationParams{Message: q.Text, RequestedSchema: json.RawMessage(q.Schema())}
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
	f.note("the client could not put a question to its person; mcpx-bridge approve can")
}

// decide takes the client's answer. What is not a choice of those offered is a
// no.
func (f *Proxy) decide(q *question, result []byte) {
	r, said := q.read(result)
	f.endQuestion(q, said)
	f.do(Decide{q.ID, r})
}

// endQuestion tells those that wait for it what became of a question.
func (f *Proxy) endQuestion(q *question, how string) {
	f.questions = slices.DeleteFunc(f.questions, func(other *question) bool { return other == q })
	f.closeDialogOf(q)
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
		f.endQuestion(f.questions[i], "no longer asked")
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

// closeDialogs takes all dialogs away when no call is under way in which they
// may be open. The questions stay.
func (f *Proxy) closeDialogs() {
	if len(f.dialogs) == 0 || f.host(false) != nil {
		return
	}
	for _, id := range slices.Sorted(maps.Keys(f.dialogs)) {
		f.closeDialog(id)
	}
}

func (f *Proxy) closeDialog(id string) {
	f.dialogs[id].shown = false
	delete(f.dialogs, id)
	f.say(jsonrpc.AppendCancel(nil, jsonrpc.AppendQuote(nil, id), "no longer asked here"))
}

// offer answers a request of the modern revision with questions.
func (f *Proxy) offer(r *request) {
	var some []*question
	for _, q := range f.questions {
		if !q.shown && !q.failed && len(some) < maxDialogs {
			q.shown = true
			some = append(some, q)
		}
	}
	if len(some) == 0 {
		return
	}
	if r.call != nil {
		f.giveTicket(r.call)
	}
	f.again(r, &round{call: r.call}, some)
}

// again tells a client of the modern revision to come again with the same call
// and with answers to the questions, if any.
func (f *Proxy) again(r *request, turn *round, some []*question) {
	turn.what, turn.offered = r.what, some
	state := f.c.NewID()
	f.rounds[state] = turn
	turn.late = f.clock.after(ticketTime, func() { f.endRound(state) })
	result := compose(mcp.NewInputRequiredResult(nil, state))
	if len(some) > 0 { // in their order, which the library's map has not
		var asks []field
		for _, q := range some {
			asks = append(asks, field{q.ID, plain(mcp.NewElicitationInputRequest(q.form()))})
		}
		result = withMembers(result, string(appendObject([]byte(`"inputRequests":`), asks)))
	}
	f.reply(r, result)
}

// endRound: what was not answered may be asked again.
func (f *Proxy) endRound(state string) *round {
	turn := f.rounds[state]
	if turn == nil {
		return nil
	}
	turn.late.stop()
	delete(f.rounds, state)
	for _, q := range turn.offered {
		q.shown = false
	}
	return turn
}

// resume takes a call that came again. It reports whether the call is still to
// be made: one with a state that is unknown never is, for it may have run.
func (f *Proxy) resume(r *request, responses, state []byte) bool {
	given, err := texts(state)
	var turn *round
	if err == nil {
		turn = f.rounds[given[0]]
	}
	if turn == nil || turn.what != r.what || responses != nil && !isObject(responses) {
		f.refuse(r, codeInvalidParams, "requestState is none that was given for this call, or it is too old; the call was not made again", nil)
		return false
	}
	f.endRound(given[0])
	r.answers = turn.call == nil // so it hears what becomes of them
	for _, q := range turn.offered {
		switch at, err := pick(responses, q.ID); {
		case !slices.Contains(f.questions, q): // it ended meanwhile
		case err == nil && at[0] != nil:
			f.decide(q, orNothing(at[0]))
		default:
			q.failed = true // or it would be offered for ever
		}
	}
	if turn.call != nil {
		f.join(r, turn.call)
		return false
	}
	return true
}

// orNothing is an object without members for what is none, which is a no.
func orNothing(raw []byte) []byte {
	if !isObject(raw) {
		return []byte("{}")
	}
	return raw
}
