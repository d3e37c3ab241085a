package main

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/localgateway"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/topic"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// joinTime is how long a command waits for its seat.
const joinTime = 10 * time.Second

// A peer is a seat taken for the length of one command, to ask the others. It
// answers what they ask with "no such method", at once, so that nobody waits
// for it.
type peer struct {
	seat *topic.Seat
	door *connector
	log  *slog.Logger // for a command that lists tools

	onFrame func(e *wire.Envelope)      // sees everything received; may be nil
	onAsk   func(e *wire.Envelope) bool // takes requests to us that it answers itself; may be nil
	onRoom  func(e roomEvent)           // sees seats taken and lost, refused frames; may be nil
	onMove  func(id, event string)      // sees every word of presence, one after the other; may be nil
	also    topic.Handler               // hears everything too, after us; may be nil

	seated chan struct{} // closed at the first welcome
	ended  chan struct{} // closed when the seat is given up
	leave  context.CancelFunc

	mu      sync.Mutex
	dialect wire.Dialect
	you     wire.Participant
	roster  map[string]wire.Participant
	waits   map[string]*wait // by envelope id
	greeted map[string]bool  // peers that have been initialized
	err     error            // why the seat was given up
}

// A wait is for the answer to one request.
type wait struct {
	to       string
	done     func(answer) // called at most once, by the goroutine that reads the topic
	progress func(params []byte)
}

// An answer is what came back: one of Result and Err, raw, or the word of the
// gateway that the request went nowhere.
type answer struct {
	Result, Err []byte
	Fault       error
}

// A roomEvent is something that is no frame.
type roomEvent struct{ What, Detail string }

// errNoAnswer says that the time for an answer is over.
var errNoAnswer = errors.New("no answer in time")

// takeSeat joins the topic, under --id or a random one.
func (p *program) takeSeat(ctx context.Context, set func(*peer)) (*peer, error) {
	d, err := p.newConnector(cmp.Or(p.s.ID, randomID()), false)
	if err != nil {
		return nil, err
	}
	if err := d.Locate(ctx); err != nil {
		return nil, err
	}
	if err := d.Ready(ctx); err != nil {
		return nil, err
	}
	q := newPeer(d)
	q.log = p.log
	if set != nil {
		set(q)
	}
	return q, q.take(ctx)
}

func newPeer(d *connector) *peer {
	return &peer{door: d, seated: make(chan struct{}), ended: make(chan struct{}), roster: map[string]wire.Participant{},
		waits: map[string]*wait{}, greeted: map[string]bool{}}
}

// take runs the seat beside us and waits for the welcome.
func (q *peer) take(ctx context.Context) error {
	q.door.Join.MaxWaitFirst = joinTime
	if err := q.sit(ctx); err != nil {
		return err
	}
	select {
	case <-q.seated:
		return nil
	case <-q.ended:
		return q.why()
	case <-ctx.Done():
		q.close()
		return context.Cause(ctx)
	}
}

// sit runs the seat beside us. It outlives ctx until close, so that last words
// can be said.
func (q *peer) sit(ctx context.Context) (err error) {
	if q.seat, err = q.door.Seat(); err != nil {
		return err
	}
	run, leave := context.WithCancel(context.WithoutCancel(ctx))
	q.leave = leave
	go func() {
		err := localgateway.Fault(q.seat.Run(run, q))
		q.mu.Lock()
		q.err = cmp.Or(err, error(&failure{Exit: exitFailed}))
		q.mu.Unlock()
		close(q.ended)
	}()
	return nil
}

// close leaves the topic.
func (q *peer) close() {
	q.leave()
	<-q.ended
}

func (q *peer) why() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.err
}

// me is our id, once we are seated.
func (q *peer) me() string {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.you.ID
}

// tongue is what the topic speaks.
func (q *peer) tongue() string {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.dialect.Protocol
}

// others are the participants beside us, by id.
func (q *peer) others() []wire.Participant {
	q.mu.Lock()
	defer q.mu.Unlock()
	var all []wire.Participant
	for _, id := range sortedKeys(q.roster) {
		if id != q.you.ID {
			all = append(all, q.roster[id])
		}
	}
	return all
}

// here returns an error unless somebody of that id is in the topic.
func (q *peer) here(id string) error {
	var ids []string
	for _, p := range q.others() {
		if p.ID == id {
			return nil
		}
		ids = append(ids, p.ID)
	}
	hint := "mcpx-bridge who lists who is here"
	if meant := nearest(id, ids); meant != "" {
		hint = "did you mean " + meant + "?"
	}
	return fail(exitNoAnswer, hint, "there is no %q in the topic %s", id, q.door.Join.Topic)
}

// ask sends one request and waits for its answer until ctx ends; then it tells
// the other side. The error is what kept the answer from coming.
func (q *peer) ask(ctx context.Context, to, method string, params []byte, progress func([]byte)) (answer, error) {
	env, came := uuid.NewString(), make(chan answer, 1)
	defer q.forget(env)
	if err := q.start(env, method, params, &wait{to: to, done: func(a answer) { came <- a }, progress: progress}); err != nil {
		return answer{}, err
	}
	select {
	case a := <-came:
		return a, a.Fault
	case <-q.ended:
		return answer{}, q.why()
	case <-ctx.Done():
		q.cancel(to, env, context.Cause(ctx).Error())
		return answer{}, context.Cause(ctx)
	}
}

// start sends one request, whose id and progress token are its envelope's id.
// If it cannot be sent it is forgotten.
func (q *peer) start(env, method string, params []byte, w *wait) error {
	q.mu.Lock()
	q.waits[env] = w
	q.mu.Unlock()
	id := jsonrpc.AppendQuote(nil, env)
	if w.progress != nil {
		params = withProgress(params, id)
	}
	err := q.send(wire.Own, env, w.to, wire.Request, jsonrpc.AppendRequest(nil, id, method, params))
	if err != nil {
		q.forget(env)
	}
	return err
}

func (q *peer) forget(env string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.waits, env)
}

// withProgress asks for progress under a token, which is the request's id.
func withProgress(params, token []byte) []byte {
	m, err := jsonrpc.Parse(slices.Concat([]byte(`{"jsonrpc":"2.0","method":"x","params":`), params, []byte(`}`)), jsonrpc.Judged)
	if err != nil {
		return params // the other side will say what is wrong with them
	}
	whole := m.Append(nil, jsonrpc.InsertMeta(append([]byte(`"progressToken":`), token...)))
	if m, err = jsonrpc.Parse(whole, jsonrpc.Judged); err != nil {
		return params
	}
	return m.Get(jsonrpc.Params)
}

// cancel takes a request back.
func (q *peer) cancel(to, env, why string) {
	q.send(wire.Cancellation, uuid.NewString(), to, wire.Notification, jsonrpc.AppendCancel(nil, jsonrpc.AppendQuote(nil, env), why))
}

// send spells one message in the topic's dialect and puts it on its way.
func (q *peer) send(class wire.Class, env, to string, kind wire.Kind, payload []byte) error {
	m, err := jsonrpc.Parse(payload, jsonrpc.Called)
	if err != nil {
		return misused("", "the request cannot be sent: %w", err)
	}
	e := wire.Envelope{ID: env, TS: wire.Stamp(time.Now()), To: []string{to}, Kind: kind, Method: m.Text(jsonrpc.Method), Payload: payload, Message: m}
	switch e.Method {
	case "tools/call", "prompts/get":
		e.Key = m.Text(jsonrpc.Name)
	case "resources/read", "resources/subscribe", "resources/unsubscribe":
		e.Key = m.Text(jsonrpc.URI)
	}
	return q.post(class, &e)
}

func (q *peer) post(class wire.Class, e *wire.Envelope) error {
	q.mu.Lock()
	d, caps := q.dialect, q.you.Caps
	e.From = q.you.ID
	q.mu.Unlock()
	frame, err := d.Append(nil, e, caps)
	if errors.Is(err, wire.ErrNotPermitted) {
		return fail(exitRefused, "ask for a token with more capabilities", "the gateway does not let %s send %s", e.From, wordFor(e))
	}
	if err != nil {
		return err
	}
	err = q.seat.Send(class, frame)
	if errors.Is(err, topic.ErrTooLarge) {
		return fail(exitFailed, "", "%w", err)
	}
	if err != nil {
		return fail(exitNoAnswer, "try again", "the request could not be sent: %w", err)
	}
	q.seat.Flush()
	return nil
}

// wordFor is what people call a frame.
func wordFor(e *wire.Envelope) string {
	switch e.Kind {
	case wire.Proposal:
		return "proposals"
	case wire.Withdraw:
		return "withdrawals"
	}
	return cmp.Or(e.Method, "an answer")
}

// SeatTaken and the following are what a seat calls.
func (q *peer) SeatTaken(d wire.Dialect, w wire.Welcome) {
	q.mu.Lock()
	first := q.you.ID == ""
	q.dialect, q.you = d, w.You
	clear(q.roster)
	for _, p := range w.Peers {
		q.roster[p.ID] = p
	}
	q.mu.Unlock()
	if first {
		close(q.seated)
	}
	q.tell("joined", w.You.ID)
	if q.also != nil {
		q.also.SeatTaken(d, w)
	}
}

func (q *peer) SeatLost(err error) {
	if !errors.Is(err, topic.ErrLeft) {
		q.tell("disconnected", err.Error())
	}
	if q.also != nil {
		q.also.SeatLost(err)
	}
}

func (q *peer) Refused(r *wire.Refused) {
	q.tell("dropped", strings.TrimSpace(r.From+" "+r.Reason+" "+r.Detail))
}

func (q *peer) TopicIdle() { q.seat.Flush() }

func (q *peer) tell(what, detail string) {
	if q.onRoom != nil {
		q.onRoom(roomEvent{what, detail})
	}
}

func (q *peer) Received(e *wire.Envelope) {
	switch e.Kind {
	case wire.Presence:
		q.presence(e)
	case wire.Response:
		q.response(e)
	case wire.Notification:
		q.notification(e)
	case wire.Request:
		q.request(e)
	case wire.Failure:
		q.faulted(e)
	}
	if q.onFrame != nil {
		q.onFrame(e)
	}
	if q.also != nil {
		q.also.Received(e)
	}
}

func (q *peer) presence(e *wire.Envelope) {
	event, who, err := e.Presence()
	if err != nil {
		return
	}
	q.mu.Lock()
	if event == "leave" {
		delete(q.roster, who.ID)
	} else {
		q.roster[who.ID] = who
	}
	q.mu.Unlock()
	if q.onMove != nil {
		q.onMove(who.ID, event)
	}
}

// saysOf says when the one who is asked leaves and comes back. That is no end: who
// comes back may bring an answer along. What it returns is for onMove.
func (p *program) saysOf(whom func() string) func(id, event string) {
	away := false
	return func(id, event string) {
		asked := whom()
		switch {
		case id != asked || asked == "":
		case event == "leave":
			away = true
			p.log.Warn(asked + " has left the topic; there may be an answer if it comes back")
		case event == "join" && away:
			away = false
			p.log.Info(asked + " is back in the topic; mcpx-bridge who says which server that is")
		}
	}
}

// response ends the wait for it, if it comes from whom we asked.
func (q *peer) response(e *wire.Envelope) {
	result, fault := e.Message.Get(jsonrpc.Result), e.Message.Get(jsonrpc.Err)
	if result == nil && fault == nil {
		return
	}
	for _, env := range e.Corr {
		if q.settle(env, e.From, answer{Result: result, Err: fault}) {
			return
		}
	}
}

// settle ends the wait for one answer. from "" is the gateway, which may speak
// for whoever was asked.
func (q *peer) settle(env, from string, a answer) bool {
	q.mu.Lock()
	w := q.waits[env]
	mine := w != nil && (from == "" || w.to == from)
	if mine {
		delete(q.waits, env)
	}
	q.mu.Unlock()
	if mine {
		w.done(a)
	}
	return mine
}

// faulted ends the waits for what the gateway did not pass on, where it says
// what that is.
func (q *peer) faulted(e *wire.Envelope) {
	f, err := e.Fault()
	if err != nil {
		return
	}
	for _, env := range f.Trigger {
		q.settle(env, "", answer{Fault: notPassedOn(f)})
	}
}

// notPassedOn words what a gateway says of a frame of ours.
func notPassedOn(f wire.Fault) error {
	what := strings.TrimSpace(f.Code + " " + f.Message)
	if f.AttemptedKind == "" {
		return fail(exitNoAnswer, "", "the gateway did not pass it on: %s", what)
	}
	return fail(exitRefused, "ask for a token with more capabilities", "the gateway does not let us send %s: %s", f.AttemptedKind, what)
}

func (q *peer) notification(e *wire.Envelope) {
	if e.Method != "notifications/progress" {
		return
	}
	token, _ := jsonrpc.Unquote(e.Message.Get(jsonrpc.Token))
	q.mu.Lock()
	w := q.waits[token]
	q.mu.Unlock()
	if w != nil && w.to == e.From && w.progress != nil {
		w.progress(e.Message.Get(jsonrpc.Params))
	}
}

// request turns down what others ask of us: we serve nothing.
func (q *peer) request(e *wire.Envelope) {
	me := q.me()
	if e.From == me || len(e.To) != 1 || e.To[0] != me {
		return
	}
	if q.onAsk != nil && q.onAsk(e) {
		return
	}
	id := e.Message.Get(jsonrpc.ID)
	payload := jsonrpc.AppendError(nil, id, -32601, "this participant serves nothing", nil)
	if e.Method == "ping" {
		payload = jsonrpc.AppendResult(nil, id, nil)
	}
	q.reply(e, payload)
}

// reply answers a request.
func (q *peer) reply(e *wire.Envelope, payload []byte) error {
	return q.post(wire.Reply, &wire.Envelope{ID: uuid.NewString(), TS: wire.Stamp(time.Now()), To: []string{e.From}, Corr: []string{e.ID},
		Kind: wire.Response, Method: e.Method, Key: e.Key, Payload: payload})
}
