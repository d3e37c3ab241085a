package prompt

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/pause"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
)

// Lines asks a person, or a program, that writes lines. Every answer repeats
// the digest of its question, so nothing can be answered before it was shown.
type Lines struct {
	In   io.Reader
	Out  io.Writer
	Find Finder

	p      *Prompt
	m      *model
	parts  *sync.WaitGroup
	shown  map[string]approval.View // by short digest
	unseen map[string]bool          // those that could not be shown yet; true: again tries
}

const lineHelp = `answer with one of
  allow DIGEST [FIELD=VALUE…] [remember=once|session|always]
  deny DIGEST [WHY…]
  delegate DIGEST TO
or say: list, show DIGEST, quit`

// Run asks until In ends or says quit, or ctx ends. It does not wait for a read
// of In that never returns.
func (l *Lines) Run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	p := &Prompt{m: newModel(0, 0, false), posted: make(chan func(), 16)}
	var parts sync.WaitGroup
	l.p, l.m, l.parts = p, p.m, &parts
	l.shown, l.unseen = map[string]approval.View{}, map[string]bool{}
	defer parts.Wait()
	defer stop()
	parts.Go(func() { p.find(ctx, &parts, l.Find) })
	lines := make(chan string)
	go l.read(ctx, lines)
	fmt.Fprintln(l.Out, lineHelp)
	for {
		l.tell(ctx)
		select {
		case <-ctx.Done():
			return nil
		case f := <-p.posted:
			f()
		case line, ok := <-lines:
			if !ok || line == "quit" {
				return nil
			}
			l.obey(ctx, line)
		}
	}
}

func (l *Lines) read(ctx context.Context, lines chan<- string) {
	defer close(lines)
	in := bufio.NewScanner(l.In)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		select {
		case lines <- strings.TrimSpace(in.Text()):
		case <-ctx.Done():
			return
		}
	}
}

func (l *Lines) say(format string, args ...any) { fmt.Fprintf(l.Out, format+"\n", args...) }

// tell says what is new, and shows what has not been shown.
func (l *Lines) tell(ctx context.Context) {
	for _, line := range l.m.said {
		l.say("%s", line)
	}
	l.m.said = nil
	left := func(digest string) bool {
		return !slices.ContainsFunc(l.m.items, func(it item) bool { return it.q.Short == digest })
	}
	maps.DeleteFunc(l.shown, func(digest string, _ approval.View) bool { return left(digest) })
	maps.DeleteFunc(l.unseen, func(digest string, tried bool) bool { return !tried && left(digest) })
	for i := range l.m.items {
		it := &l.m.items[i]
		v, known := l.shown[it.q.Short]
		if _, unseen := l.unseen[it.q.Short]; !known && !unseen {
			l.show(ctx, it)
		} else if known && v.Have != it.q.Have {
			l.tally(ctx, it, v.Have)
		}
	}
}

// tally says who agrees by now, if that are others than had when it was said last.
func (l *Lines) tally(ctx context.Context, it *item, had int) {
	c, cancel := ask(ctx)
	defer cancel()
	v, err := it.src.Show(c, it.q.ID)
	if err != nil || v.Short != it.q.Short || v.Have == had {
		return
	}
	l.shown[v.Short] = v
	l.say("%s: needs %s", it.what(), v.Needs())
}

func (l *Lines) show(ctx context.Context, it *item) {
	c, cancel := ask(ctx)
	defer cancel()
	v, err := it.src.Show(c, it.q.ID)
	if err != nil {
		open := !gone(err)
		if open {
			l.say("%s cannot be shown: %s", it.what(), text.Line(err.Error()))
		}
		if _, before := l.shown[it.q.Short]; before {
			return
		}
		if l.unseen[it.q.Short] = open; open {
			l.again(ctx, *it)
		}
		return
	}
	l.shown[it.q.Short] = v
	l.say("\n%s\n%s", text.Line(it.src.Label), Text(&v))
	if v.Elsewhere != "" {
		l.say("%s", text.Line(v.Elsewhere))
		return
	}
	for i := range v.Edits {
		f := &v.Edits[i]
		l.say("May be changed: %s (%s), now %s %s", text.Line(f.Field), f.Title, text.Line(f.Typed()), strings.Join(f.Choices(), " | "))
	}
	if to := passable(&v); len(to) > 0 {
		l.say("May be passed on to: %s", strings.Join(to, ", "))
	}
	l.say("allow %s / deny %s", v.Short, v.Short)
}

// again has tell show what could not be shown, once it can be. There is one for each question, also
// where that was not in the list meanwhile.
func (l *Lines) again(ctx context.Context, it item) {
	l.parts.Go(func() {
		if !pause.For(ctx, findAgain) {
			return
		}
		c, cancel := ask(ctx)
		defer cancel()
		_, err := it.src.Show(c, it.q.ID)
		l.p.post(ctx, func() {
			i := slices.IndexFunc(l.m.items, func(now item) bool { return now.q.Short == it.q.Short })
			if i < 0 || err == nil || gone(err) {
				delete(l.unseen, it.q.Short)
				return
			}
			l.again(ctx, l.m.items[i]) // whose source may be another by now
		})
	})
}

// obey does what one line says.
func (l *Lines) obey(ctx context.Context, line string) {
	words := strings.Fields(line)
	if len(words) == 0 {
		return
	}
	if words[0] == "list" {
		for i := range l.m.items {
			l.say("%s", l.m.items[i].what())
		}
		return
	}
	if !slices.Contains([]string{"allow", "deny", "delegate", "show"}, words[0]) || len(words) < 2 {
		l.say("%s", lineHelp)
		return
	}
	it, v := l.named(words[1])
	switch {
	case it == nil && l.waits(words[1]):
		l.say("it could not be shown yet: %s", text.Line(words[1]))
	case it == nil:
		l.say("no question of that id or digest is open: %s", text.Line(words[1]))
	case words[0] == "show":
		l.show(ctx, it)
	default:
		l.answer(ctx, it, v, words[0], words[2:], line)
	}
}

// waits reports whether a name is that of a question that could not be shown yet.
func (l *Lines) waits(name string) bool {
	return !tooShort(name) && slices.ContainsFunc(l.m.items, func(it item) bool {
		return l.unseen[it.q.Short] && it.q.Named(name)
	})
}

// tooShort reports whether a name has fewer characters than are listed, which might be met by chance.
func tooShort(name string) bool {
	return len(strings.TrimPrefix(name, "sha256:")) < len(approval.Digest{}.Short())
}

// named finds the question of a name among those that were shown. One that is too short names
// none; nor does one that several questions have.
func (l *Lines) named(name string) (found *item, view *approval.View) {
	if tooShort(name) {
		return nil, nil
	}
	for i := range l.m.items {
		it := &l.m.items[i]
		v, shown := l.shown[it.q.Short]
		if !shown || v.ID != it.q.ID || !v.Named(name) {
			continue
		}
		if found != nil {
			return nil, nil
		}
		found, view = it, &v
	}
	return found, view
}

func (l *Lines) answer(ctx context.Context, it *item, v *approval.View, verb string, rest []string, line string) {
	var r approval.Reply
	switch verb {
	case "deny":
		why := strings.TrimSpace(strings.TrimPrefix(line, "deny"))
		_, r.Reason, _ = strings.Cut(why, " ")
	case "delegate":
		if r.To = strings.Join(rest, " "); !slices.Contains(passable(v), r.To) {
			l.say("it can be passed on to: %s", cmp.Or(strings.Join(passable(v), ", "), "nobody"))
			return
		}
	case "allow":
		r.Allow = true
		if err := Set(&r, v, rest); err != nil {
			l.say("%s", text.Line(err.Error()))
			return
		}
	}
	l.m.mine[it.ref()] = sentWords(v, r)
	c, cancel := ask(ctx)
	defer cancel()
	o, err := it.src.Decide(c, inbox.Decide(v, &r))
	l.m.answered(*it, r, o, err)
}
