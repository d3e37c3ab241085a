package desktop

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
