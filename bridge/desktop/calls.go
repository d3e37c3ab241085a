package desktop

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// whenKnown looks a name up, at first when those present have said what they
// offer. An app may mean a tool by the name that its server has for it.
func (f *Proxy) whenKnown(k int, r *request, name string, then func(Pair, *definition)) {
	if pair, d := f.find(k, name); d != nil && (r.apps || !d.appOnly) {
		then(pair, d)
		return
	}
	f.whenOpen(k, r, func() {
		f.compile(k) // which gives names to what is new
		if pair, d := f.find(k, name); d != nil && (r.apps || !d.appOnly) {
			then(pair, d)
			return
		}
		problem := "Unknown " + kinds[k].one() + ": " + clip(name, 80)
		if k == tools && r.apps {
			var o owner
			var d *definition
			if o, d, problem = f.bareTool(name); problem == "" {
				then(o.Pair, d)
				return
			}
		}
		f.refuse(r, codeInvalidParams, problem, nil)
	})
}

// call has a request wait for a call: for the one under way that is the same,
// or for a new one. why says why it is made, "" if nobody said.
func (f *Proxy) call(r *request, pair Pair, args []byte, why string) {
	key := pair.Peer + "\x00" + pair.Name + "\x00" + same(args)
	if c := f.calls[key]; c != nil {
		f.join(r, c)
		return
	}
	if why := f.absent(pair.Peer); why != "" {
		f.sorry(r, unavailable, why+"; the call was not made")
		return
	}
	if len(f.calls)+len(f.tickets) >= maxCalls {
		f.sorry(r, busy, "too many calls are under way; the call was not made")
		return
	}
	c := &call{key: key, pair: pair}
	f.calls[key] = c
	params := justified(slices.Concat([]byte(`{"name":`), jsonrpc.AppendQuote(nil, pair.Name), []byte(`,"arguments":`), args, []byte("}")), why)
	c.ref = f.ask(pair.Peer, methodCallTool, params, asking{done: func(a Answered) { f.called(c, a) }, progress: func(p []byte) { f.moved(c, p) }})
	f.listenFor(c)
	f.join(r, c)
}

// listenFor gives a call up when nothing is heard of it.
func (f *Proxy) listenFor(c *call) {
	f.follow(&c.course, c.pair.Peer, func(why string) {
		f.unask(c.ref, "nothing was heard of it for too long")
		f.called(c, Answered{Failed: why})
	})
}

// join has a request wait for a call.
func (f *Proxy) join(r *request, c *call) {
	r.call = c
	c.waiting = append(c.waiting, r)
	if c.done {
		f.deliver(c)
		return
	}
	late := f.clock.after(f.c.Patience, func() { f.outOfPatience(r) })
	r.away = func() {
		late.stop()
		f.leave(r, c)
	}
}

// leave: a call for which nobody waits any more is taken back, unless somebody
// has a ticket for it.
func (f *Proxy) leave(r *request, c *call) {
	c.waiting = slices.DeleteFunc(c.waiting, func(w *request) bool { return w == r })
	if len(c.waiting) == 0 && c.ticket == "" && !c.done {
		f.unask(c.ref, "the caller cancelled it")
		f.drop(c)
	}
}

func (f *Proxy) drop(c *call) {
	c.idle.stop()
	if f.calls[c.key] == c {
		delete(f.calls, c.key)
	}
	delete(f.tickets, c.ticket)
}

// called takes the answer.
func (f *Proxy) called(c *call, a Answered) {
	c.answer, c.done = a, true
	c.idle.stop()
	if c.ticket == "" {
		defer f.drop(c)
	} else {
		c.idle = f.clock.after(ticketTime, func() { f.drop(c) })
	}
	f.deliver(c)
}

// deliver gives all who wait the answer. From then on the same call is a new
// one; who has a ticket can still fetch this answer.
func (f *Proxy) deliver(c *call) {
	if len(c.waiting) > 0 && f.calls[c.key] == c {
		delete(f.calls, c.key)
	}
	for _, r := range slices.Clone(c.waiting) {
		f.giveAnswer(r, c)
	}
	c.waiting = nil
}

func (f *Proxy) giveAnswer(r *request, c *call) {
	switch a := c.answer; {
	case a.Unsent:
		f.sorry(r, unavailable, a.Failed+"; the call was not made")
	case a.Failed != "":
		f.sorry(r, outcomeUnknown, a.Failed+"; "+c.pair.Name+" may or may not have run")
	case a.Err != nil:
		if text := inWords(c.pair, a.Err); text != "" {
			f.refused(r, text, a.Err)
			return
		}
		f.passFault(r, a.Err, c.pair)
	default:
		f.passResult(r, a.Result, c.pair)
	}
}

// passResult answers with a peer's result, byte for byte. It may be nothing but
// a result: no peer asks this client for anything by way of it. What a native
// participant's function returned is shown as text (FINDINGS D9).
func (f *Proxy) passResult(r *request, result []byte, from Pair) {
	called := r.method == methodCallTool
	if called && !isObject(result) {
		f.reply(r, r.native(result, from))
		return
	}
	at, err := peek(result, "resultType", "content", "structuredContent", "isError", "contents", "messages")
	if err != nil {
		f.sorry(r, unreadable, from.Peer+" answered with something that is no result; "+from.Name+" has run")
		return
	}
	if kind, _ := jsonrpc.Unquote(at[0]); at[0] != nil && kind != "complete" {
		f.sorry(r, outcomeUnknown, from.Peer+" asks for more than its answer may ask for; "+from.Name+" may or may not have run")
		return
	}
	if f.showsCard(r) {
		f.closeFor(from, at[1], at[4], at[5])
	}
	if page, isPage := pageAddress(from.Name); isPage && r.reads != "" {
		result = pageAt(r.reads, page, result, at[4])
	}
	if listed := len(at[1]) > 0 && at[1][0] == '['; called && !listed && at[2] == nil && at[3] == nil {
		result = r.native(result, from)
	}
	f.reply(r, result)
}

// native is a value that is no result of a tool, as one: some participants answer
// with whatever a function returned. A client that was promised an answer of a
// certain form gets an object as that, and anything else as an error, for it takes
// nothing else.
func (r *request) native(value []byte, from Pair) []byte {
	shown, isText := jsonrpc.Unquote(value)
	if !isText {
		shown = string(bytes.TrimSpace(value))
	}
	note := clip(from.Peer, 80) + " answered " + clip(from.Name, 80) + " with a bare value, which is shown as text"
	if shown == "{}" || shown == "null" || shown == "" {
		shown, note = "", clip(from.Peer, 80)+" answered "+clip(from.Name, 80)+" without a value"
	}
	content := words(note)
	if shown != "" {
		content = append(words(shown), content...)
	}
	answer := map[string]any{"content": content}
	switch {
	case r.promised && isObject(value):
		answer["structuredContent"] = json.RawMessage(value)
	case r.promised:
		answer["isError"] = true
	}
	return compose(answer)
}

// passFault answers with a peer's error, byte for byte. It may be nothing but an
// error either.
func (f *Proxy) passFault(r *request, raw []byte, from Pair) {
	if asksTheClient(raw) {
		f.sorry(r, outcomeUnknown, from.Peer+" asks for more than its answer may ask for; "+from.Name+" may or may not have run")
		return
	}
	f.passError(r, raw)
}

// moved passes progress on.
func (f *Proxy) moved(c *call, params []byte) {
	note, ok := c.moves(params)
	if !ok {
		return
	}
	f.listenFor(c)
	c.note = clip(note, 200)
	for _, r := range c.waiting {
		f.progress(r, params)
	}
}

// progress tells a client of progress under its own token, all else as it came.
func (f *Proxy) progress(r *request, params []byte) {
	m, err := jsonrpc.Parse(jsonrpc.AppendNotification(nil, toldProgressed, params), jsonrpc.Judged)
	if err == nil && r.token != nil {
		f.do(WriteClient{m.Append(nil, jsonrpc.Edit{Field: jsonrpc.Token, Value: r.token}), true})
	}
}

// outOfPatience answers before the client would stop waiting: with a ticket
// that the answer can be fetched with.
func (f *Proxy) outOfPatience(r *request) {
	c := r.call
	f.giveTicket(c)
	if r.modern {
		f.again(r, &round{call: c}, nil)
		return
	}
	what := "is not answered yet"
	if c.note != "" {
		what += " (" + c.note + ")"
	}
	where := ""
	if strings.Contains(c.note, "approval") {
		where = " If it waits for you, the command mcpx-bridge approve lets you decide."
		if f.showsCard(r) && !f.cardClosed {
			where = " If it waits for the person here, mcpx_approvals shows that person a card to decide on."
		}
	}
	text := fmt.Sprintf("%s at %s %s. To get the answer call mcpx_result with the ticket %q, or make the same call again: it does not run twice.%s",
		clip(c.pair.Name, 80), clip(c.pair.Peer, 80), what, c.ticket, where)
	pending := map[string]any{"status": "pending", "ticket": c.ticket, "peer": c.pair.Peer, "tool": c.pair.Name, "waits_for": c.note}
	f.reply(r, r.interim(text, pending))
}

func (f *Proxy) giveTicket(c *call) {
	if c.ticket == "" {
		c.ticket = f.c.NewID()
		f.tickets[c.ticket] = c
	}
}

// interim is an answer that is not the tool's. A client holds what is structured
// against the form that the tool promises, if it does, so there it may be an
// error only, and goes into _meta.
func (r *request) interim(text string, structured any) []byte {
	answer := mcp.NewToolResultStructured(structured, text)
	if r.promised {
		answer = mcp.NewToolResultError(text)
		answer.Meta = mcp.NewMetaFromMap(map[string]any{"mcpx/pending": structured})
	}
	return plain(answer)
}
