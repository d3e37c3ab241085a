package gateway_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/gorilla/websocket"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/gateway"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/hub"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// elsewhere keeps topics as something at the end of a network would: it answers later, from a
// goroutine of its own, or with an error. The gateway knows nothing of it.
type elsewhere struct {
	t testing.TB

	// fate says what becomes of an entry, leased of a lease. nil: all goes well. They are set
	// before anybody comes.
	fate   func(e *hub.Entry) error
	leased func(s hub.Seat) error

	mu      sync.Mutex
	held    bool     // nothing is done
	waiting []func() // what is to be done, in order
	more    sync.Cond
	over    bool
	leases  map[int64]hub.Holder // those that are out
	done    chan struct{}
}

func keptElsewhere(t testing.TB) *elsewhere {
	e := &elsewhere{t: t, leases: map[int64]hub.Holder{}, done: make(chan struct{})}
	e.more.L = &e.mu
	go e.run()
	t.Cleanup(func() {
		e.mu.Lock()
		e.over = true
		e.more.Broadcast()
		e.mu.Unlock()
		<-e.done
	})
	return e
}

// run does what waits, one after the other, as it came.
func (e *elsewhere) run() {
	defer close(e.done)
	for {
		e.mu.Lock()
		for !e.over && (e.held || len(e.waiting) == 0) {
			e.more.Wait()
		}
		if e.over {
			e.mu.Unlock()
			return
		}
		next := e.waiting[0]
		e.waiting = e.waiting[1:]
		e.mu.Unlock()
		next()
	}
}

func (e *elsewhere) later(do func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.waiting = append(e.waiting, do)
	e.more.Broadcast()
}

// hold keeps back what is not done yet, until it is told to go on.
func (e *elsewhere) hold(held bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.held = held
	e.more.Broadcast()
}

// wait returns once so much waits.
func (e *elsewhere) wait(n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for len(e.waiting) < n && !e.over {
		e.more.Wait()
	}
}

// waits returns how much waits.
func (e *elsewhere) waits() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.waiting)
}

// step does the first of what waits, while that is held back.
func (e *elsewhere) step() {
	e.wait(1)
	e.mu.Lock()
	next := e.waiting[0]
	e.waiting = e.waiting[1:]
	e.mu.Unlock()
	next()
}

// turn has what came last done first.
func (e *elsewhere) turn() {
	e.mu.Lock()
	defer e.mu.Unlock()
	last := len(e.waiting) - 1
	e.waiting = append([]func(){e.waiting[last]}, e.waiting[:last]...)
}

// out returns how many leases have not come back.
func (e *elsewhere) out() (n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.leases)
}

// Open implements hub.Log.
func (e *elsewhere) Open(topic string, to hub.Reader) (hub.Feed, error) {
	if topic == "lost" {
		return nil, errors.New("that topic is not to be had")
	}
	return &stream{elsewhere: e, to: to}, nil
}

// A stream is one topic's feed.
type stream struct {
	*elsewhere
	to     hub.Reader
	closed atomic.Bool
}

// Publish implements hub.Feed.
func (s *stream) Publish(e *hub.Entry) {
	s.later(func() {
		if s.closed.Load() {
			return
		}
		var err error
		if s.fate != nil {
			err = s.fate(e)
		}
		if err != nil {
			s.to.Lost(e, err)
		} else {
			s.to.Deliver(e)
		}
		s.to.Idle()
	})
}

// Close implements hub.Feed.
func (s *stream) Close() {
	if s.closed.Swap(true) {
		s.t.Error("a feed was closed twice")
	}
}

// Take implements hub.Presence.
func (e *elsewhere) Take(s hub.Seat, came int64, to hub.Holder) {
	e.later(func() {
		if e.leased != nil {
			if err := e.leased(s); err != nil {
				to.Leased(0, err)
				return
			}
		}
		e.mu.Lock()
		e.leases[came] = to
		e.mu.Unlock()
		to.Leased(came, nil)
	})
}

// Release implements hub.Presence.
func (e *elsewhere) Release(_ hub.Seat, epoch int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.leases, epoch)
}

// expire ends all leases.
func (e *elsewhere) expire() {
	e.mu.Lock()
	holders := slices.Collect(maps.Values(e.leases))
	clear(e.leases)
	e.mu.Unlock()
	for _, h := range holders {
		h.Expired()
	}
}

// keepElsewhere has every gateway that a test opens keep its topics elsewhere.
var keepElsewhere bool

// What participants see of a topic does not depend on what keeps it: what the gateway's tests
// ask of topics in memory holds for topics that answer later, from another goroutine.
func TestTopicsThatAreKeptElsewhere(t *testing.T) {
	keepElsewhere = true
	defer func() { keepElsewhere = false }()
	for name, test := range map[string]func(*testing.T){
		"welcome and presence": TestWelcomeAndPresence, "no ghost": TestNoGhostAfterReconnect, "late join": TestLateJoinPutsNobodyOut,
		"reconnect race": TestReconnectRace, "absent": TestAbsentRecipient,
		"capabilities": TestCapabilities, "limits": TestLimits, "local": TestLocal, "served": TestLocalServe, "slow local": TestSlowLocal,
		"close": TestClose, "history in bytes": TestHistoryIsBoundedInBytes, "history in number": TestHistoryIsBoundedInNumber,
		"history outlives": TestHistoryOutlivesTheLastOne, "calls": TestCallCrossesDialects, "public": TestTopicIsPublic,
		"no word": TestWhatADialectCannotSay, "proposals": TestProposalsCross, "forgotten": TestForgottenRequest, "malformed": TestMalformedFrames,
		"not asked": TestAnAnswerOfWhoWasNotAskedGoesToNobody, "misread": TestProgressThatNamesARequestEndedTheWaitForItsAnswer,
		"unreadable answer": TestAnAnswerThatCannotBeSpelledIsToldToWhoAsked, "unnamed answer": TestSeed003sOwnAnswerIsHeardInEveryDialect,
	} {
		t.Run(name, test)
	}
}

// What the log does not take nobody gets, and who said it is told so, or that it is not known.
func TestWhatTheLogDoesNotTakeIsAnsweredAsSuch(t *testing.T) {
	for _, p := range protocols {
		e := keptElsewhere(t)
		e.fate = func(entry *hub.Entry) error {
			switch {
			case bytes.Contains(entry.Frame, []byte(`"text":"lost"`)):
				return errors.New("the disk of broker 10.0.0.7 is full")
			case bytes.Contains(entry.Frame, []byte(`"text":"doubt"`)):
				return fmt.Errorf("no answer: %w", hub.ErrInDoubt)
			}
			return nil
		}
		h := open(t, gateway.Options{Topics: e, Presence: e})
		ann, bob := h.join(p, "ann"), h.join(p, "bob")
		for text, word := range map[string]string{"lost": "nobody got this", "doubt": "is not known"} {
			ann.send(say(p, "c-"+text, "ann", "", "chat", `{"text":"`+text+`","format":"plain"}`))
			fault := ann.until("not_delivered")
			if !strings.Contains(fault, word) || strings.Contains(fault, "10.0.0.7") {
				t.Errorf("%s: of what is %s ann hears %s", p, text, fault)
			}
		}
		ann.mark(bob)
		for _, frame := range bob.seen {
			if strings.Contains(frame, `"c-`) {
				t.Errorf("%s: bob got %s", p, frame)
			}
		}
		if _, body := h.get("GET", "/v0.1/topics/t/history", h.mint("ann", "t"), nil, ""); strings.Contains(body, `"c-`) {
			t.Errorf("%s: the history has %s", p, body)
		}
		if _, body := h.get("GET", "/metrics", "", nil, ""); !strings.Contains(body, `refused_total{reason="not_delivered"} 2`) {
			t.Errorf("%s: the metrics say %s", p, body)
		}
	}
}

// While the log stands still it is given no more than it has been promised, whoever speaks: a client
// is slowed, one in this process is told what nobody gets. Once it goes on all the rest arrives.
func TestWhatIsSaidWhileTheLogStandsStill(t *testing.T) {
	const frames, promised = 1000, 32 << 20 / (40 << 10)
	e := keptElsewhere(t)
	h := open(t, gateway.Options{Topics: e, Presence: e, MaxQueue: 5 * frames, MaxQueueBytes: 1 << 30})
	bob, ann := h.join("mcpx/v0.1", "bob"), h.join("mcpx/v0.1", "ann")
	inside, err := h.Attach("t", "inside", wire.Caps{}, dialect(t, "mcpx/v0.1"))
	if err != nil {
		t.Fatal(err)
	}
	defer inside.Close(1000, "")
	words := func(who string, n int) string {
		return say("mcpx/v0.1", fmt.Sprintf("%s-%05d", who, n), who, "", "chat", `{"text":"`+strings.Repeat("x", 40<<10)+`","format":"plain"}`)
	}
	e.hold(true)
	for n := range frames {
		inside.Put([]byte(words("inside", n)))
	}
	kept := e.waits()
	if kept > promised {
		t.Errorf("%d frames wait", kept)
	}
	said := make(chan bool)
	go func() {
		defer close(said)
		for n := range frames {
			if err := ann.ws.WriteMessage(websocket.TextMessage, []byte(words("ann", n))); err != nil {
				t.Errorf("frame %d: %v", n, err)
				return
			}
		}
	}()
	e.wait(kept + promised/3)
	if n := e.waits(); n > 2*promised {
		t.Errorf("%d frames wait", n)
	}
	e.hold(false)
	for n := range kept {
		bob.until(fmt.Sprintf(`"inside-%05d"`, n))
	}
	for n := range frames {
		bob.until(fmt.Sprintf(`"ann-%05d"`, n))
	}
	<-said
	for told := 0; told < frames-kept; {
		frame, err := inside.Read()
		if err != nil {
			t.Fatalf("after %d of %d: %v", told, frames-kept, err)
		}
		told += bytes.Count(frame, []byte("not_delivered"))
	}
}

// Where the log, the presence or the topic is not to be had nobody is seated by half: the
// client hears of it, the lease goes back and the seat is free.
func TestNobodyIsSeatedByHalf(t *testing.T) {
	e := keptElsewhere(t)
	down := atomic.Bool{}
	e.fate = func(entry *hub.Entry) error {
		if down.Load() && entry.Kind == hub.Joined && entry.Who.ID == "ann" {
			return errors.New("no quorum")
		}
		return nil
	}
	e.leased = func(s hub.Seat) error {
		if down.Load() && s.ID == "bob" {
			return errors.New("no leases")
		}
		return nil
	}
	h := open(t, gateway.Options{Topics: e, Presence: e})
	down.Store(true)
	for id, reason := range map[string]string{"ann": "no quorum", "bob": "no leases"} {
		for _, p := range protocols {
			if end := h.knock(p, id, h.mint(id, "t")).closed(); end.Code != 1008 || !strings.Contains(end.Text, reason) {
				t.Errorf("%s, %s: %v", p, id, end)
			}
		}
	}
	if end := h.knockAt("lost", "mcpx/v0.1", "ann", h.mint("ann", "lost")).closed(); end.Code != 1008 || !strings.Contains(end.Text, "not to be had") {
		t.Error(end)
	}
	if n := e.out(); n != 0 {
		t.Errorf("%d leases have not come back", n)
	}
	if _, body := h.get("GET", "/metrics", "", nil, ""); !strings.Contains(body, "mcpx_gateway_topics 0\n") {
		t.Errorf("a topic is kept open for nobody: %s", body)
	}
	down.Store(false)
	h.join("mcpx/v0.1", "ann").mark(h.join("mcpx/v0.1", "bob"))
}

// Who has left has left, though the log does not take that.
func TestALeaveThatTheLogLosesCounts(t *testing.T) {
	e := keptElsewhere(t)
	e.fate = func(entry *hub.Entry) error {
		if entry.Kind == hub.Left {
			return errors.New("no quorum")
		}
		return nil
	}
	h := open(t, gateway.Options{Topics: e, Presence: e})
	ann, bob := h.join("mcpx/v0.1", "ann"), h.join("mcpx/v0.1", "bob")
	ann.ws.Close()
	bob.until(`"leave"`)
	h.join("mcpx/v0.1", "ann").mark(bob)
}

// Who waits for a seat while the gateway closes is let go, wherever that is held up, and the
// lease that comes too late goes back.
func TestWhoWaitsForASeatIsLetGoWhenTheGatewayCloses(t *testing.T) {
	for steps, heldUp := range []string{"the lease", "the log"} {
		e := keptElsewhere(t)
		h := open(t, gateway.Options{Topics: e, Presence: e})
		e.hold(true)
		ann := h.knock("mcpx/v0.1", "ann", h.mint("ann", "t"))
		for range steps {
			e.step()
		}
		e.wait(1)
		closed := make(chan bool)
		go func() { h.Close(); close(closed) }()
		if end := ann.closed(); end.Code != 1001 {
			t.Errorf("%s: %v", heldUp, end)
		}
		ann.ws.Close()
		<-closed
		e.step()
		if n := e.out(); n != 0 {
			t.Errorf("%s: %d leases have not come back", heldUp, n)
		}
	}
}

// What a session has said is not delivered any more once another one has its seat, in whatever
// order the two were published.
func TestWhatIsSaidUnderAnOlderLeaseIsNotDelivered(t *testing.T) {
	e := keptElsewhere(t)
	h := open(t, gateway.Options{Topics: e, Presence: e})
	old, bob := h.join("mcpx/v0.1", "ann"), h.join("mcpx/v0.1", "bob")
	old.mark(bob)
	e.hold(true)
	old.send(say("mcpx/v0.1", "stale", "ann", "", "chat", `{"text":"x","format":"plain"}`))
	e.wait(1)
	ann := h.knock("mcpx/v0.1", "ann", h.mint("ann", "t"))
	e.wait(2)
	e.turn()
	e.step() // the lease, which publishes that ann comes
	e.turn()
	e.hold(false)
	ann.kind(wire.Greeting)
	if end := old.closed(); end.Code != hub.CodeReplaced {
		t.Error(end)
	}
	ann.mark(bob)
	for _, frame := range bob.seen {
		if strings.Contains(frame, `"stale"`) {
			t.Errorf("bob got %s", frame)
		}
	}
}

// A reader that is too slow is cut, counted and left out once, however much is delivered before
// the log says that he has left.
func TestASlowReaderIsCutOnceThoughHisLeaveComesLate(t *testing.T) {
	e := keptElsewhere(t)
	h := open(t, gateway.Options{Topics: e, Presence: e, MaxQueueBytes: 1 << 20})
	ann, words := h.join("mcpx/v0.1", "ann"), strings.Repeat("x", 1<<20)
	h.rawJoin("slow")
	ann.until(`"join"`)
	e.hold(true)
	for i := range 20 {
		ann.send(say("mcpx/v0.1", fmt.Sprint("c", i), "ann", "", "chat", `{"text":"`+words+`","format":"plain"}`))
		e.wait(i + 1)
	}
	for range 20 {
		e.step()
	}
	e.hold(false)
	ann.until(`"leave"`)
	if _, body := h.get("GET", "/metrics", "", nil, ""); !strings.Contains(body, "slow_readers_cut_total 1\n") {
		t.Errorf("the metrics say %s", body)
	}
}

// A session ends with the lease of its seat.
func TestASessionEndsWithItsLease(t *testing.T) {
	e := keptElsewhere(t)
	h := open(t, gateway.Options{Topics: e, Presence: e})
	ann := h.join("mcpx/v0.1", "ann")
	l, err := h.Attach("t", "inside", wire.Caps{}, dialect(t, "mcpx/v0.1"))
	if err != nil {
		t.Fatal(err)
	}
	e.expire()
	if end := ann.closed(); end.Code != 1008 || end.Text != hub.ReasonExpired {
		t.Error(end)
	}
	for err = nil; err == nil; {
		_, err = l.Read()
	}
	if end, ok := errors.AsType[*wire.CloseError](err); !ok || end.Reason != hub.ReasonExpired {
		t.Error(err)
	}
	l.Close(1000, "")
}

// A forgetful is a history that has lost something.
type forgetful struct{}

func (forgetful) Add(*hub.Entry) {}
func (forgetful) Before(string, int) ([]*hub.Entry, error) {
	return nil, errors.New("another epoch")
}

// A history that has lost something keeps nobody out, and is not shown as if it were whole.
func TestAHistoryThatHasLostSomething(t *testing.T) {
	h := open(t, gateway.Options{History: func(string) hub.History { return forgetful{} }})
	ann, bob := h.join("mcp-x/v0", "ann"), h.join("mcpx/v0.1", "bob")
	ann.mark(bob)
	if status, body := h.get("GET", "/v0.1/topics/t/history", h.mint("ann", "t"), nil, ""); status != 503 {
		t.Errorf("%d %s", status, body)
	}
}
