package proposal

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
)

// A table on which a Book lies, with a clock beside it.
type desk struct {
	t    *testing.T
	book *Book
	now  time.Time
	said []string // what the acts were, in short
}

func newDesk(t *testing.T, o Options, r Rules) *desk {
	d := &desk{t: t, book: NewBook(o), now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	d.book.SetRules(r)
	d.do(d.book.Tick(d.now))
	return d
}

// do takes down acts as "what id [reason]".
func (d *desk) do(acts []Act) {
	for _, a := range acts {
		switch a := a.(type) {
		case Consider:
			d.said = append(d.said, "consider "+a.ID)
		case Refused:
			how := "pass "
			if a.Told {
				how = "reject "
			}
			d.said = append(d.said, how+a.ID+" "+a.Reason)
		case Noted:
			if a.Event != record.Proposed && !a.Quiet {
				d.said = append(d.said, strings.TrimSpace(string(a.Event)+" "+a.ID+" "+a.Reason))
			}
		}
	}
}

// pass lets time go by, each alarm at its own moment.
func (d *desk) pass(by time.Duration) {
	end := d.now.Add(by)
	for next := d.book.Next(); !next.IsZero() && !next.After(end); next = d.book.Next() {
		d.now = next
		d.do(d.book.Tick(d.now))
	}
	d.now = end
	d.do(d.book.Tick(d.now))
}

func (d *desk) offer(from, id string, to []string, more func(*Proposed)) *Life {
	p := Proposed{Me: "me", Envelope: &wire.Envelope{ID: id, From: from, To: to, Payload: []byte(`{"method":"tools/call"}`)},
		Offer: wire.Offer{Method: "tools/call", Key: "t", QuickReject: true, FallbackToBroadcast: true, FallbackAfter: 5 * time.Second, ExclusiveFor: 3 * time.Second},
		Sum:   [32]byte{byte(len(id))}}
	if more != nil {
		more(&p)
	}
	d.do(d.book.Offered(p))
	return d.book.lives[key{from, id}]
}

func (d *desk) expect(said ...string) {
	d.t.Helper()
	if !slices.Equal(d.said, said) {
		d.t.Errorf("said %q, want %q", d.said, said)
	}
	d.said = nil
}

var us = []string{"me"}

// The table, written down once more: where each event leads from each state.
// What is not in it changes nothing.
func TestEveryEventInEveryState(t *testing.T) {
	const live = "watched waiting pending asking contending"
	want := map[event]string{
		due:       "waiting>pending",
		passed:    "waiting,pending,asking,contending>watched",
		refused:   "waiting,pending,asking,contending>rejected",
		contends:  "pending,asking>contending",
		reopened:  "running,claimed>pending",
		requeued:  "running,claimed>waiting",
		asked:     "pending>asking",
		claimed:   live + " rejected failed>claimed",
		started:   live + " claimed rejected failed>running",
		taken:     live + " rejected failed>running",
		served:    "running>fulfilled",
		failed:    "running,claimed>failed",
		settled:   live + " rejected failed>fulfilled",
		withdrawn: live + " claimed rejected failed>withdrawn",
		abandoned: live + ">withdrawn",
		overdue:   live + ">expired",
	}
	for ev := due; ev <= requeued; ev++ {
		from, to, _ := strings.Cut(want[ev], ">")
		states := strings.FieldsFunc(from, func(r rune) bool { return r == ' ' || r == ',' })
		for s := Watched; s < Expired+1; s++ {
			expected := s.String()
			if slices.Contains(states, s.String()) {
				expected = to
			}
			if got := s.after(ev).String(); got != expected {
				t.Errorf("event %d in %s leads to %s, want %s", ev, s, got, expected)
			}
		}
	}
}

// Once over, a life never becomes ours to judge again, whatever comes. (What somebody
// else has taken from us and did not do is not over; it is reopened, and nothing else
// is: see TestWhatOthersTakeAndDoNotDoComesBack.)
func TestNothingLeadsBack(t *testing.T) {
	for s := Watched; s <= Expired; s++ {
		seen := map[State]bool{}
		var walk func(State)
		walk = func(s State) {
			for ev := due; ev <= overdue; ev++ {
				if to := s.after(ev); to != s && !seen[to] {
					seen[to] = true
					walk(to)
				}
			}
		}
		walk(s)
		if s.Over() && (seen[Pending] || seen[Asking] || seen[Waiting]) {
			t.Errorf("%s leads back to us", s)
		}
		if (s == Fulfilled || s == Withdrawn || s == Expired) && len(seen) > 0 {
			t.Errorf("%s is not the end: %v", s, seen)
		}
	}
}

func TestToWhomAProposalIs(t *testing.T) {
	preferred := func(who ...string) func(*Proposed) {
		return func(p *Proposed) { p.Offer.Preferred = who }
	}
	for _, c := range []struct {
		name  string
		to    []string
		more  func(*Proposed)
		rules Rules
		want  []string
		state State
	}{
		{"to us", us, nil, Rules{}, []string{"consider p"}, Pending},
		{"to us and others", []string{"a", "me"}, nil, Rules{}, []string{"consider p"}, Pending},
		{"to us, though others are preferred", us, preferred("a"), Rules{}, []string{"consider p"}, Pending},
		{"to others, though we are preferred", []string{"a"}, preferred("me"), Rules{Broadcast: true, RejectUntargeted: true}, nil, Watched},
		{"to nobody, we are preferred", nil, preferred("me"), Rules{}, []string{"consider p"}, Pending},
		{"to nobody", nil, nil, Rules{}, nil, Watched},
		{"to nobody, and we take such", nil, nil, Rules{Broadcast: true}, []string{"consider p"}, Pending},
		{"others are preferred, and we take nothing", nil, preferred("a"), Rules{}, nil, Watched},
		{"others are preferred", nil, preferred("a"), Rules{Broadcast: true}, nil, Waiting},
		{"malformed", us, func(p *Proposed) { p.Wrong = errors.New("no") }, Rules{}, []string{"reject p invalid"}, Rejected},
		{"malformed, to nobody", nil, func(p *Proposed) { p.Wrong = errors.New("no") }, Rules{Broadcast: true}, []string{"pass p invalid"}, Watched},
		{"malformed, to others", []string{"a"}, func(p *Proposed) { p.Wrong = errors.New("no") }, Rules{RejectUntargeted: true}, nil, Watched},
		{"needs what we lack", us, func(p *Proposed) { p.Lacks = "git" }, Rules{}, []string{"reject p incapable"}, Rejected},
		{"needs what we lack, to nobody", nil, func(p *Proposed) { p.Lacks = "git" }, Rules{RejectUntargeted: true}, []string{"reject p incapable"}, Rejected},
		{"wants no reject", us, func(p *Proposed) { p.Lacks, p.Offer.QuickReject = "git", false }, Rules{}, []string{"pass p incapable"}, Watched},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDesk(t, Options{}, c.rules)
			l := d.offer("bob", "p", c.to, c.more)
			d.expect(c.want...)
			if l.State != c.state {
				t.Errorf("it is %s, want %s", l.State, c.state)
			}
		})
	}
}

func TestOthersComeFirst(t *testing.T) {
	d := newDesk(t, Options{}, Rules{Broadcast: true})
	wait := func(id string, f func(*wire.Offer)) {
		d.offer("bob", id, nil, func(p *Proposed) {
			p.Offer.Preferred = []string{"a", "b"}
			f(&p.Offer)
		})
	}
	wait("p1", func(o *wire.Offer) {})
	d.pass(4999 * time.Millisecond)
	d.expect()
	d.pass(time.Millisecond)
	d.expect("consider p1")

	wait("p2", func(o *wire.Offer) {})
	d.do(d.book.Rejected("a", nil, "p2"))
	d.do(d.book.Rejected("a", nil, "p2"))
	d.do(d.book.Rejected("mallory", nil, "p2"))
	d.expect()
	d.do(d.book.Left("b", true))
	d.expect("consider p2")

	wait("p3", func(o *wire.Offer) { o.Exclusive = true })
	d.do(d.book.Rejected("a", nil, "p3"))
	d.do(d.book.Rejected("b", nil, "p3"))
	d.pass(2999 * time.Millisecond)
	d.expect()
	d.pass(time.Millisecond)
	d.expect("consider p3")

	wait("p4", func(o *wire.Offer) { o.Exclusive, o.FallbackToBroadcast = true, false })
	d.expect("pass p4 left_to_others")

	wait("p5", func(o *wire.Offer) { o.TTL = time.Second })
	d.pass(time.Second)
	d.expect("expired p5 ttl")

	wait("p6", func(o *wire.Offer) {})
	d.book.SetRules(Rules{}) // the owner thinks again
	d.pass(5 * time.Second)
	d.expect("pass p6 left_to_others")
	if d.book.bytes != 0 {
		t.Errorf("%d bytes are held for nothing", d.book.bytes)
	}
}

func TestOnlyTheProposerWithdraws(t *testing.T) {
	d := newDesk(t, Options{}, Rules{})
	d.offer("bob", "p", us, nil)
	d.offer("carol", "p", us, nil) // another proposal, under the same id
	d.expect("consider p", "consider p")
	d.do(d.book.Withdrawn("mallory", "p", ""))
	d.expect("security p withdraw_not_proposer")
	d.do(d.book.Withdrawn("bob", "p", "no_longer_needed"))
	d.expect("withdrawn p no_longer_needed")
	d.do(d.book.Withdrawn("bob", "p", "again"))
	d.do(d.book.Refuse(d.book.lives[key{"bob", "p"}], Busy, ""))
	d.expect()
	if l := d.book.lives[key{"carol", "p"}]; l.State != Pending {
		t.Errorf("carol's is %s", l.State)
	}
}

func TestSeed002Q4WithdrawalsAreBounded(t *testing.T) {
	d := newDesk(t, Options{}, Rules{})
	for i := range 40 {
		d.offer("bob", fmt.Sprint("p", i), us, nil)
	}
	d.said = nil
	for i := range 40 {
		d.do(d.book.Withdrawn("bob", fmt.Sprint("p", i), ""))
	}
	if len(d.said) != maxWithdrawals {
		t.Errorf("%d are on record, want %d", len(d.said), maxWithdrawals)
	}
	for i := range 40 {
		if l := d.book.lives[key{"bob", fmt.Sprint("p", i)}]; l.State != Withdrawn {
			t.Errorf("p%d is %s: what is withdrawn is withdrawn", i, l.State)
		}
	}
	d.said = nil
	for range 40 {
		d.do(d.book.Withdrawn("carol", "nothing", ""))
	}
	d.expect("dropped nothing withdraw_unknown_proposal")
	d.pass(time.Minute)
	d.do(d.book.Withdrawn("carol", "nothing", ""))
	d.expect("dropped nothing withdraw_unknown_proposal")
	for i := range maxWithdrawers + 10 {
		d.book.Withdrawn(fmt.Sprint("w", i), "nothing", "")
	}
	if len(d.book.withdrawals) > maxWithdrawers {
		t.Errorf("%d participants are remembered for their withdrawals", len(d.book.withdrawals))
	}
}

func TestTheBookIsBounded(t *testing.T) {
	d := newDesk(t, Options{Max: 8}, Rules{})
	for i := range 8 { // four proposers
		d.offer(fmt.Sprint("b", i/2), fmt.Sprint("p", i), us, nil)
	}
	d.said = nil
	d.offer("b9", "full", us, nil)
	d.expect("reject full busy")
	d.offer("b0", "mine", us, nil) // a quarter is the most one may have
	d.expect("reject mine busy")
	d.do(d.book.Withdrawn("b1", "p2", ""))
	d.offer("b9", "room", us, nil)
	d.expect("withdrawn p2", "consider room")
	if len(d.book.lives) != 8 || d.book.lives[key{"b1", "p2"}] != nil {
		t.Errorf("%d lives", len(d.book.lives))
	}

	// What is over goes before what others may serve, and the oldest first.
	d = newDesk(t, Options{Max: 8}, Rules{})
	for i := range 8 {
		d.offer(fmt.Sprint("b", i), fmt.Sprint("p", i), []string{"other"}, nil)
	}
	d.do(d.book.Withdrawn("b5", "p5", ""))
	d.offer("b8", "p8", us, nil)
	d.offer("b9", "p9", us, nil)
	for i, gone := range map[int]bool{0: true, 1: false, 4: false, 5: true, 7: false} {
		if l := d.book.lives[key{fmt.Sprint("b", i), fmt.Sprint("p", i)}]; (l == nil) != gone {
			t.Errorf("p%d: gone %v, want %v", i, l == nil, gone)
		}
	}
}

func TestWhatWaitsIsBounded(t *testing.T) {
	d := newDesk(t, Options{MaxBytes: 100}, Rules{Broadcast: true})
	for i := range 6 {
		d.offer(fmt.Sprint("b", i), fmt.Sprint("p", i), nil, func(p *Proposed) { p.Offer.Preferred = []string{"a"} })
	}
	d.expect("pass p4 busy", "pass p5 busy") // 23 bytes each
}

// Nobody fills the room for envelopes: what one had others wait for, or had taken for an hour, kept everybody
// else's from waiting, and from coming back.
func TestWhatOneHasHeldLeavesRoomForOthers(t *testing.T) {
	prefers := func(p *Proposed) { p.Offer.Preferred = []string{"a"} }
	d := newDesk(t, Options{MaxBytes: 100}, Rules{Broadcast: true}) // of 23 bytes each
	for i := range 4 {
		d.do(d.book.Taken(d.offer("mallory", fmt.Sprint("m", i), nil, prefers), Run{ID: fmt.Sprint("s", i), By: "mallory", Runner: "mallory"}))
	}
	d.said = nil
	d.offer("bob", "waits", nil, prefers)
	p := d.offer("bob", "p", nil, nil)
	d.do(d.book.Taken(p, Run{ID: "r1", By: "mallory", Runner: "carol"}))
	d.do(d.book.Answered("carol", nil, []string{"r1"}, Unserved, true))
	d.expect("consider p", "taken p", "reopened p", "consider p")
}

// What waits has its room already, and keeps it when others take it.
func TestWhatWaitsNeedsNoSecondRoomToComeBack(t *testing.T) {
	d := newDesk(t, Options{MaxBytes: 60}, Rules{Broadcast: true})
	p := d.offer("bob", "p", nil, func(p *Proposed) { p.Offer.Preferred = []string{"a"} }) // of 23 bytes
	d.offer("carol", "q", nil, func(p *Proposed) { p.Offer.Preferred = []string{"a"} })
	d.do(d.book.Taken(p, Run{ID: "r1", By: "mallory", Runner: "dave"}))
	d.do(d.book.Answered("dave", nil, []string{"r1"}, Unserved, true))
	d.expect("taken p", "reopened p")
}

// The frame of a proposal that others may serve is not kept: it may be large.
func TestNoFrameIsKeptForOthers(t *testing.T) {
	d := newDesk(t, Options{}, Rules{})
	for id, to := range map[string][]string{"theirs": {"other"}, "nobodys": nil, "refused": us, "asked": us} {
		l := d.offer("bob", id, to, func(p *Proposed) {
			p.Offer.Params, p.Offer.Needs = []byte(`{"large":1}`), []string{"many"}
			if len(to) > 0 {
				p.Offer.Preferred = []string{"more"}
			}
		})
		switch id {
		case "refused":
			d.book.Refuse(l, Busy, "")
		case "asked":
			d.book.Asked(l)
		}
		if l.Envelope != nil || l.offer.Params != nil || l.offer.Needs != nil || l.offer.Preferred != nil {
			t.Errorf("that which is %s keeps its frame", id)
		}
	}
}

func TestWhatIsOverIsForgotten(t *testing.T) {
	d := newDesk(t, Options{}, Rules{})
	d.offer("bob", "over", us, nil)
	d.do(d.book.Withdrawn("bob", "over", ""))
	d.offer("bob", "watched", []string{"other"}, nil)
	d.pass(14 * time.Minute)
	if len(d.book.lives) != 2 {
		t.Errorf("%d lives after 14 minutes", len(d.book.lives))
	}
	d.pass(2 * time.Minute)
	if d.book.Holds("bob", "over") || !d.book.Holds("bob", "watched") {
		t.Error("after 16 minutes the one that is over should be gone, and only that")
	}
	d.pass(time.Hour)
	if len(d.book.lives)+len(d.book.byID)+len(d.book.runs)+len(d.book.each) != 0 {
		t.Errorf("something is left: %+v", d.book)
	}
}

// People may take longer to agree than others' proposals are remembered. What
// then runs must not be forgotten meanwhile, or it could run again.
func TestWhatRunsIsNotForgotten(t *testing.T) {
	d := newDesk(t, Options{}, Rules{})
	l := d.offer("bob", "p1", us, nil)
	d.book.Asked(l)
	d.pass(90 * time.Minute)
	d.book.Started(l, Run{ID: "s1", By: "me", Runner: "me"})
	d.pass(59 * time.Minute)
	if d.book.Linked([]string{"p1"}, "tools/call", "t", l.Sum) != l || d.book.Bars(l) != BarAlready {
		t.Error("somebody else may have it run again")
	}
	d.pass(2 * time.Minute)
	if d.book.Holds("bob", "p1") {
		t.Error("it is kept for ever")
	}
}

func TestARequestFindsItsProposal(t *testing.T) {
	d := newDesk(t, Options{}, Rules{})
	sum := func(n byte) func(*Proposed) { return func(p *Proposed) { p.Sum = [32]byte{n} } }
	bob, carol := d.offer("bob", "p1", us, sum(1)), d.offer("carol", "p1", us, sum(2))
	mallory := d.offer("mallory", "p1", us, sum(1)) // a copy of bob's
	for _, c := range []struct {
		method string
		key    string
		sum    byte
		want   *Life
	}{{"tools/call", "t", 1, bob}, {"tools/call", "t", 2, carol}, {"tools/call", "t", 3, bob}, {"tools/call", "u", 1, nil}, {"prompts/get", "t", 1, nil}} {
		if got := d.book.Linked([]string{"x", "p1"}, c.method, c.key, [32]byte{c.sum}); got != c.want || got == mallory {
			t.Errorf("%s %d finds %+v", c.method, c.sum, got)
		}
	}
}

func TestWhatBarsARequest(t *testing.T) {
	d := newDesk(t, Options{}, Rules{})
	p := d.offer("bob", "p", us, func(p *Proposed) { p.Offer.TTL = time.Minute })
	bar := func(want Bar) {
		t.Helper()
		if got := d.book.Bars(p); got != want {
			t.Errorf("%s: bar %d, want %d", p.State, got, want)
		}
	}
	bar(Open)
	d.book.Claimed(p, Run{ID: "r1", By: "alice", Runner: "me"})
	bar(BarAlready)
	d.book.Ended(p, Run{ID: "r1", By: p.By}, Spoilt)
	bar(Open)
	if _, ok := d.book.Started(p, Run{ID: "r2", By: "carol", Runner: "me"}); !ok {
		t.Fatal("it does not start")
	}
	bar(BarAlready)
	d.book.Ended(p, Run{ID: "r1", By: "alice"}, Spoilt) // the one before
	bar(BarAlready)
	d.book.Ended(p, Run{ID: "r2", By: p.By}, Spoilt)
	bar(Open)
	d.pass(time.Minute)
	bar(BarExpired)
	q := d.offer("bob", "qq", us, nil)
	d.book.Withdrawn("bob", "qq", "")
	if _, ok := d.book.Started(q, Run{ID: "r3", By: "carol", Runner: "me"}); ok || d.book.Bars(q) != BarWithdrawn {
		t.Error("what was withdrawn starts")
	}
}

// Whoever was not asked can claim what he likes.
func TestWhoseAnswerCounts(t *testing.T) {
	d := newDesk(t, Options{}, Rules{})
	p := d.offer("bob", "p", []string{"a", "me"}, nil)
	d.said = nil
	d.do(d.book.Answered("mallory", nil, []string{"p"}, Served, true))
	d.do(d.book.Answered("a", nil, []string{"p"}, Served, false)) // the dialect knows no such answers
	d.do(d.book.Answered("a", nil, []string{"p"}, Spoilt, true))  // of no request: it may be anything
	d.expect()
	d.do(d.book.Taken(p, Run{ID: "r1", By: "alice", Runner: "a"}))
	d.expect("taken p")
	d.do(d.book.Answered("mallory", nil, []string{"r1"}, Served, true))
	d.do(d.book.Answered("me", nil, []string{"r1"}, Served, true))
	d.expect()
	d.do(d.book.Answered("a", nil, []string{"r1"}, Spoilt, true))
	d.expect("unfulfilled p")
	d.do(d.book.Answered("a", nil, []string{"p"}, Served, true))
	d.expect("fulfilled p")

	// A runner that leaves has not served it.
	q := d.offer("bob", "qq", []string{"a", "me"}, nil)
	d.said = nil
	d.do(d.book.Taken(q, Run{ID: "r2", By: "alice", Runner: "a"}))
	d.do(d.book.Left("a", true))
	d.expect("taken qq", "reopened qq", "consider qq")
}

func TestTheSameTwiceIsADuplicate(t *testing.T) {
	d := newDesk(t, Options{}, Rules{})
	p := d.offer("bob", "p1", us, nil)
	d.book.Started(p, Run{ID: "r1", By: "me", Runner: "me"})
	d.offer("bob", "p2", us, nil)
	d.offer("carol", "p3", us, nil)
	d.offer("bob", "p44", us, nil) // another sum
	d.expect("consider p1", "reject p2 duplicate", "consider p3", "consider p44")
	d.book.Ended(p, Run{ID: "r1", By: p.By}, Served)
	d.offer("bob", "p5", us, nil)
	d.expect("consider p5")
}

// What was ours, and somebody else took and did not do, is ours again; nothing else
// that failed is, and not for ever.
func TestWhatOthersTakeAndDoNotDoComesBack(t *testing.T) {
	d := newDesk(t, Options{}, Rules{Broadcast: true})
	env := &wire.Envelope{Payload: []byte(`{}`)}
	p := d.offer("bob", "p", nil, nil)
	d.expect("consider p")
	for i := range maxReopened + 1 {
		run := fmt.Sprint("r", i)
		d.do(d.book.Taken(p, Run{ID: run, By: "mallory", Runner: "a"}))
		d.book.KeepEnvelope(p, env)
		d.do(d.book.Answered("a", nil, []string{run}, Unserved, true))
		if i == maxReopened {
			d.expect("taken p", "unfulfilled p")
		} else {
			d.expect("taken p", "reopened p", "consider p")
		}
	}
	if d.book.bytes != 0 {
		t.Errorf("%d bytes are held for nothing", d.book.bytes)
	}
	q := d.offer("bob", "qq", us, func(p *Proposed) { p.Lacks = "git" })
	d.expect("reject qq incapable")
	d.do(d.book.Taken(q, Run{ID: "s1", By: "mallory", Runner: "me"}))
	d.do(d.book.Nobody("s1"))
	d.expect("taken qq", "unfulfilled qq")
}

// So is what nobody had judged yet when it was taken, be it that a request of us is served at once.
func TestWhatIsTakenBeforeItIsJudgedComesBack(t *testing.T) {
	prefers := func(p *Proposed) { p.Offer.Preferred, p.Offer.Exclusive = []string{"a"}, true }
	for what, take := range map[string]func(d *desk, p *Life, r Run){
		"taken":   func(d *desk, p *Life, r Run) { d.do(d.book.Taken(p, r)) },
		"claimed": func(d *desk, p *Life, r Run) { d.do(d.book.Claimed(p, r)) },
		"started": func(d *desk, p *Life, r Run) {
			acts, _ := d.book.Started(p, r)
			d.do(acts)
		},
	} {
		d := newDesk(t, Options{}, Rules{Broadcast: true})
		for _, p := range []*Life{d.offer("bob", "pending", nil, nil), d.offer("bob", "waiting", nil, prefers)} {
			before := p.State
			take(d, p, Run{ID: "r1", By: "mallory", Runner: "me"})
			if d.do(d.book.Ended(p, Run{ID: "r1", By: p.By}, Unserved)); p.State != before {
				t.Errorf("%s: what was %v is %v", what, before, p.State)
			}
		}
		d.said = nil
		if d.pass(3 * time.Second); !slices.Equal(d.said, []string{"consider waiting"}) || d.book.bytes != 0 {
			t.Errorf("%s: %q, and %d bytes are held", what, d.said, d.book.bytes)
		}
	}
}

// What we serve ourselves and fail to does not.
func TestWhatWeFailToServeDoesNotComeBack(t *testing.T) {
	d := newDesk(t, Options{}, Rules{})
	p := d.offer("bob", "p", us, nil)
	d.book.Started(p, Run{ID: "r1", By: "me", Runner: "me"})
	d.do(d.book.Ended(p, Run{ID: "r1", By: p.By}, Unserved))
	d.expect("consider p", "unfulfilled p")
}

// It does not where its time is over by then, or where there is no room to keep it.
func TestWhatComesBackTooLateIsOver(t *testing.T) {
	d := newDesk(t, Options{}, Rules{Broadcast: true})
	p := d.offer("bob", "p", nil, func(p *Proposed) { p.Offer.TTL = time.Minute })
	d.do(d.book.Taken(p, Run{ID: "r1", By: "mallory", Runner: "a"}))
	d.book.KeepEnvelope(p, &wire.Envelope{Payload: []byte(`{}`)})
	d.pass(2 * time.Minute)
	d.do(d.book.Answered("a", nil, []string{"r1"}, Unserved, true))
	d.expect("consider p", "taken p", "reopened p", "expired p ttl")

	d = newDesk(t, Options{MaxBytes: 10}, Rules{Broadcast: true})
	p = d.offer("bob", "p", nil, nil)
	d.do(d.book.Taken(p, Run{ID: "r1", By: "mallory", Runner: "a"}))
	d.book.KeepEnvelope(p, &wire.Envelope{Payload: []byte(`{"method":"tools/call"}`)})
	d.do(d.book.Nobody("r1"))
	d.expect("consider p", "taken p", "unfulfilled p")
}

// What came back to wait, and was our turn then, waits no more for those who would not serve it.
func TestWhatWasOurTurnComesBackAsThat(t *testing.T) {
	for _, asked := range []bool{false, true} {
		d := newDesk(t, Options{}, Rules{Broadcast: true})
		d.book.SetHere("a", wire.Caps{})
		p := d.offer("bob", "p", nil, func(p *Proposed) { p.Offer.Preferred, p.Offer.FallbackAfter = []string{"a", "me"}, time.Hour })
		comesBack := func(id string) {
			d.do(d.book.Taken(p, Run{ID: id, By: "mallory", Runner: "carol"}))
			d.book.KeepEnvelope(p, &wire.Envelope{Payload: []byte(`{}`)})
			d.do(d.book.Answered("carol", nil, []string{id}, Unserved, true))
		}
		comesBack("r1")
		d.do(d.book.Rejected("a", nil, "p"))
		if asked {
			d.book.Asked(p)
		}
		comesBack("r2")
		d.expect("taken p", "reopened p", "consider p", "taken p", "reopened p", "consider p")
	}
}

// Whom a proposal waits for may refuse while somebody else has it, or after it came back: then it waits no more.
func TestWhatComesBackWaitsForNobodyWhoRefuses(t *testing.T) {
	for _, targeted := range []bool{false, true} {
		for _, early := range []bool{false, true} {
			d := newDesk(t, Options{}, Rules{Broadcast: true})
			d.book.SetHere("a", wire.Caps{})
			p := d.offer("bob", "p", nil, func(p *Proposed) {
				p.Offer.Preferred, p.Offer.FallbackAfter = []string{"a"}, time.Hour
				if targeted {
					p.Offer.Preferred = []string{"a", "me"}
				}
			})
			d.do(d.book.Taken(p, Run{ID: "r1", By: "mallory", Runner: "carol"}))
			if early {
				d.do(d.book.Rejected("a", nil, "p"))
			}
			d.do(d.book.Answered("carol", nil, []string{"r1"}, Unserved, true))
			if !early {
				d.do(d.book.Rejected("a", nil, "p"))
			}
			d.expect("taken p", "reopened p", "consider p")
		}
	}
}

// The same where it was whom it waits for who had it, and is gone.
func TestWhatComesBackFromWhoIsGoneDoesNotWaitForThem(t *testing.T) {
	for _, preferred := range [][]string{{"a"}, {"a", "me"}} {
		d := newDesk(t, Options{}, Rules{Broadcast: true})
		d.book.SetHere("a", wire.Caps{})
		p := d.offer("bob", "p", nil, func(p *Proposed) { p.Offer.Preferred, p.Offer.FallbackAfter = preferred, time.Hour })
		d.do(d.book.Taken(p, Run{ID: "r1", By: "bob", Runner: "a"}))
		d.do(d.book.Left("a", true))
		d.expect("taken p", "reopened p", "consider p")
	}
}

// Two may make requests of one id of somebody, each for its own proposal: an answer is of the one it goes to.
func TestAnAnswerIsOfTheRequestItGoesTo(t *testing.T) {
	d := newDesk(t, Options{}, Rules{Broadcast: true})
	m := d.offer("mallory", "m", nil, nil)
	d.do(d.book.Taken(m, Run{ID: "r1", By: "mallory", Runner: "carol"}))
	p := d.offer("bob", "pp", nil, nil)
	d.book.Requested("bob", "r1")
	d.do(d.book.Taken(p, Run{ID: "r1", By: "bob", Runner: "carol", Reused: Reuse{Any: true}}))
	d.said = nil
	d.do(d.book.Answered("carol", []string{"bob"}, []string{"r1"}, Unserved, true))
	d.expect("reopened pp", "consider pp")
}

// Who was told that we may serve it is told that we do not, also if it comes back when its time is over.
func TestWhoWasToldOfWhatComesBackTooLateHearsOfIt(t *testing.T) {
	d := newDesk(t, Options{}, Rules{Broadcast: true})
	p := d.offer("bob", "p", nil, func(p *Proposed) { p.Offer.TTL = time.Minute })
	p.Announced = true
	d.do(d.book.Taken(p, Run{ID: "r1", By: "mallory", Runner: "a"}))
	d.pass(2 * time.Minute)
	d.do(d.book.Answered("a", nil, []string{"r1"}, Unserved, true))
	d.expect("consider p", "taken p", "reopened p", "expired p ttl", "reject p timeout")
}

// Anybody can propose something of her own, or call something, under the id of another's
// proposal: what is said to her of that says nothing of his, and nobody took it up before its time.
func TestWhatIsSaidToAnotherUnderItsIDIsNotOfTheProposal(t *testing.T) {
	d := newDesk(t, Options{}, Rules{Broadcast: true})
	d.offer("bob", "p", nil, func(p *Proposed) { p.Offer.Preferred = []string{"a"} })
	d.do(d.book.Rejected("a", []string{"mallory"}, "p"))
	d.do(d.book.Answered("a", []string{"mallory"}, []string{"p"}, Served, true))
	d.expect()
	d.do(d.book.Rejected("a", []string{"carol", "bob"}, "p"))
	d.expect("consider p")
	d.do(d.book.Answered("a", []string{"carol", "bob"}, []string{"p"}, Served, true))
	d.expect("fulfilled p")
}

// A refusal of another request that had the envelope id of the one that serves a
// proposal was taken for that one's, and the proposal was served twice.
func TestARefusalToSomebodyElseReopensNothing(t *testing.T) {
	for _, how := range []Result{Unserved, Spoilt} {
		d := newDesk(t, Options{}, Rules{Broadcast: true})
		p := d.offer("bob", "p", nil, nil)
		d.do(d.book.Taken(p, Run{ID: "r1", By: "alice", Runner: "carol"}))
		d.book.KeepEnvelope(p, &wire.Envelope{Payload: []byte(`{}`)})
		d.do(d.book.Answered("carol", []string{"mallory"}, []string{"r1"}, how, true))
		d.expect("consider p", "taken p")
		if p.State != Running {
			t.Errorf("it is %v", p.State)
		}
	}
}

// A request whose links were followed names a proposal that was forgotten meanwhile: nothing would
// ever take it out again.
func TestWhatIsForgottenIsNotKnownByItsRequests(t *testing.T) {
	for what, begin := range map[string]func(*Book, *Life){
		"asked about": func(b *Book, l *Life) { b.Claimed(l, Run{ID: "r1", By: "bob", Runner: "me"}) },
		"started":     func(b *Book, l *Life) { b.Started(l, Run{ID: "r1", By: "bob", Runner: "me"}) },
	} {
		d := newDesk(t, Options{Max: 4}, Rules{})
		p := d.offer("bob", "p", nil, func(p *Proposed) { p.Envelope.To = []string{"carol"} })
		d.offer("bob", "p2", nil, func(p *Proposed) { p.Envelope.To = []string{"carol"} })
		if d.book.Holds("bob", "p") {
			t.Fatal("it is not forgotten")
		}
		begin(d.book, p)
		d.book.Ended(p, Run{ID: "r1", By: p.By}, Served)
		if len(d.book.runs) > 0 {
			t.Errorf("%s: it is remembered by %v", what, d.book.runs)
		}
	}
}

// Mallory had made a request of us under the id that somebody else's has: then that one was not known.
func TestWhatIsServedUnderTheIDOfAnotherIsKnown(t *testing.T) {
	for _, who := range []string{"bob", "me"} {
		d := newDesk(t, Options{}, Rules{Broadcast: true})
		d.book.Started(d.offer("mallory", "m", nil, nil), Run{ID: "r1", By: "mallory", Runner: "me", Here: true})
		d.book.Started(d.offer("bob", "p1", nil, nil), Run{ID: "r1", By: who, Runner: "me", Here: true})
		if ours := d.book.ByItself("me", "r1"); ours != (who == "me") {
			t.Errorf("of %s: it is ours: %v", who, ours)
		}
		d.said = nil
		d.offer("bob", "p2", nil, nil)
		d.expect("pass p2 duplicate")
	}
}
