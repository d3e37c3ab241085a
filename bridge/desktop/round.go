package desktop

import "github.com/mark3labs/mcp-go/mcp"

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
func (f *Proxy) endRound(state string) {
	turn := f.rounds[state]
	if turn == nil {
		return
	}
	turn.late.stop()
	delete(f.rounds, state)
	for _, q := range turn.offered {
		q.shown = false
	}
}
