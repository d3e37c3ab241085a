package desktop

import (
	"maps"
	"slices"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

func (f *Proxy) getPrompt(r *request) {
	at, err := pick(r.params, "name", "arguments")
	if err != nil {
		f.refuse(r, codeInvalidParams, err.Error(), nil)
		return
	}
	name, ok := jsonrpc.Unquote(at[0])
	if !ok || at[1] != nil && !isObject(at[1]) {
		f.refuse(r, codeInvalidParams, "a prompt has a name, which is a string, and arguments, which are an object", nil)
		return
	}
	f.whenKnown(prompts, r, name, func(pair Pair, _ *definition) {
		params := jsonrpc.AppendQuote([]byte(`{"name":`), pair.Name)
		if at[1] != nil {
			params = slices.Concat(params, []byte(`,"arguments":`), at[1])
		}
		f.forward(r, pair, append(params, '}'))
	})
}

func (f *Proxy) readResource(r *request) {
	at, err := pick(r.params, "uri")
	if err != nil {
		f.refuse(r, codeInvalidParams, err.Error(), nil)
		return
	}
	uri, ok := jsonrpc.Unquote(at[0])
	if !ok {
		f.refuse(r, codeInvalidParams, "a resource has a uri, which is a string", nil)
		return
	}
	r.reads = uri
	if uri == cardURI && f.showsCard(r) {
		f.readCard(r)
		return
	}
	f.whenOpen(resources, r, func() { f.readWhose(r, uri) })
}

// readWhose reads a resource of whoever has it. An app may mean it by the address that its
// server has for it.
func (f *Proxy) readWhose(r *request, uri string) {
	pair, ok := f.inwardURI(uri)
	problem := ""
	if !ok || !f.choice.Shows(pair) {
		problem = "Unknown resource: " + clip(uri, 200)
	}
	if problem != "" && r.apps {
		var o owner
		o, problem = f.bareResource(uri)
		pair = o.Pair
	}
	if problem != "" {
		f.refuse(r, codeInvalidParams, problem, compose(map[string]string{"uri": clip(uri, 200)}))
		return
	}
	f.forward(r, pair, append(jsonrpc.AppendQuote([]byte(`{"uri":`), pair.Name), '}'))
}

// forward asks a peer what the client asked, and passes on what it answers.
func (f *Proxy) forward(r *request, pair Pair, params []byte) {
	if why := f.absent(pair.Peer); why != "" {
		f.sorry(r, unavailable, why)
		return
	}
	w := &sending{pair: pair}
	a := asking{done: func(a Answered) { f.forwarded(r, a) }}
	if r.token != nil {
		a.progress = func(params []byte) {
			if _, ok := w.moves(params); ok {
				f.listenForSent(r)
				f.progress(r, params)
			}
		}
	}
	w.ref = f.ask(pair.Peer, r.method, justified(params, r.why), a)
	r.sent = w
	r.away = func() {
		w.idle.stop()
		f.unask(w.ref, "the caller cancelled it")
	}
	f.listenForSent(r)
}

// listenForSent gives a request up when nothing is heard of it.
func (f *Proxy) listenForSent(r *request) {
	f.follow(&r.sent.course, r.sent.pair.Peer, func(why string) {
		f.unask(r.sent.ref, "nothing was heard of it for too long")
		f.forwarded(r, Answered{Failed: why})
	})
}

func (f *Proxy) forwarded(r *request, a Answered) {
	switch pair := r.sent.pair; {
	case a.Failed != "":
		f.sorry(r, outcomeUnknown, a.Failed)
	case a.Err != nil:
		f.passFault(r, a.Err, pair)
	default:
		f.passResult(r, a.Result, pair)
	}
}

// shake notes why the answers to what peer was asked may be lost; with "", to all that is under way.
func (f *Proxy) shake(peer, why string) {
	for _, key := range slices.Sorted(maps.Keys(f.calls)) {
		if c := f.calls[key]; !c.done && (peer == "" || c.pair.Peer == peer) {
			c.shaken = why
			f.listenFor(c)
		}
	}
	for _, r := range f.inOrder() {
		if r.sent != nil && (peer == "" || r.sent.pair.Peer == peer) {
			r.sent.shaken = why
			f.listenForSent(r)
		}
	}
}
