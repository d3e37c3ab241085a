package desktop

import (
	"maps"
	"slices"
	"strings"
)

func (f *Proxy) ask(to, method string, params []byte, a asking) (ref uint64) {
	f.lastRef++
	a.to = to
	f.asks[f.lastRef] = &a
	f.do(Ask{Ref: f.lastRef, To: to, Method: method, Params: params, Progress: a.progress != nil})
	return f.lastRef
}

// unask takes a request back. It is not answered then.
func (f *Proxy) unask(ref uint64, why string) {
	if f.asks[ref] != nil {
		delete(f.asks, ref)
		f.do(Cancel{ref, why})
	}
}

func (f *Proxy) answered(a Answered) {
	if asked := f.asks[a.Ref]; asked != nil {
		delete(f.asks, a.Ref)
		asked.done(a)
	}
}

// abandon ends all requests to a peer that will not answer them any more.
func (f *Proxy) abandon(id, why string) {
	for _, ref := range slices.Sorted(maps.Keys(f.asks)) {
		if a := f.asks[ref]; a != nil && a.to == id {
			f.do(Cancel{ref, why})
			f.answered(Answered{Ref: ref, Failed: why})
		}
	}
}

// absent says why a peer cannot be asked, "" if it can.
func (f *Proxy) absent(id string) string {
	p := f.peers[id]
	switch {
	case !f.seated:
		return "not connected to the topic: " + strings.TrimSuffix(f.why, ".")
	case p == nil:
		return "there is no " + id + " in the topic"
	case !p.here:
		return id + " has left the topic"
	}
	return ""
}
