package desktop

import (
	"slices"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

func (f *Proxy) callTool(r *request) {
	at, err := pick(r.params, "name", "arguments", "inputResponses", "requestState")
	if err != nil {
		f.refuse(r, codeInvalidParams, err.Error(), nil)
		return
	}
	name, ok := jsonrpc.Unquote(at[0])
	args := at[1]
	if args == nil {
		args = []byte("{}")
	}
	if !ok || !isObject(args) {
		f.refuse(r, codeInvalidParams, "a tool call has a name, which is a string, and arguments, which are an object", nil)
		return
	}
	r.what = name + "\x00" + same(args)
	if (at[2] != nil || at[3] != nil) && r.modern && !f.resume(r, at[2], at[3]) {
		return
	}
	if f.protocol.GetTool(name) != nil && (f.showsCard(r) || !ofCard(name)) {
		r.own, r.args = name, args
		f.callOwn(r)
		return
	}
	f.whenKnown(tools, r, name, func(pair Pair, d *definition) {
		r.promised = d.answers
		f.call(r, pair, args, r.why)
	})
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
