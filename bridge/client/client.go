package client

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/fault"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/localgateway"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/topic"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// joinTime is how long Dial waits for its seat.
const joinTime = 10 * time.Second

// An Answer is what came back: one of Result and Err, raw JSON that is the receiver's, or
// the word of the gateway that the request went nowhere.
type Answer struct {
	Result, Err []byte
	Fault       error
}

// Options say which functions are called with what the topic brings. Each may be nil. They
// are called from the goroutine that reads the topic, and must not wait for the topic.
type Options struct {
	Version string       // of this program, for handshakes
	Yields  bool         // gives the seat up when somebody joins under our id; see [topic.Options]
	Log     *slog.Logger // nil: none

	Approvals *ApprovalInbox // takes the questions that are put to us; nil: they are turned down

	OnFrame    func(e *wire.Envelope)      // sees everything received
	OnRequest  func(e *wire.Envelope) bool // takes requests to us that it answers itself
	OnSeat     func(what, detail string)   // sees the seat taken and lost ("joined", "disconnected") and frames refused ("dropped")
	OnPresence func(id, event string)      // sees every word of presence
	OnStarting func(id, words string)      // hears that somebody whom we asked says that it is still starting, once a second at most
	Also       topic.Handler               // is called too, after the Client has taken what came
}

// An ApprovalInbox is what others in a topic ask us, as elicitations that want leave
// for a tool call (seed 003): the [inbox.Inbox] of a participant. The zero value is
// ready, for one client, which gets it in [Options.Approvals]; nil functions hear
// nothing. Questions end by themselves: when they are taken back, put again or too old.
type ApprovalInbox struct {
	inbox.Feed
	Opened func(*Question) // called with each new question
	Closed func(id string) // called when a question ends, unless Answer says so; for one that was just opened maybe twice

	c    *Client
	mu   sync.Mutex
	open []*Question
	sent []*sentAnswer // the latest
}

// A sentAnswer is what it takes to know a question again when its asker says how it ended.
type sentAnswer struct {
	id, from string
	rpc      []byte
	told     bool   // it was said here that it was sent
	because  string // how it ended, heard before that; "" for not yet
}

// A Question is one that is put to us. Its exported fields never change.
type Question struct {
	approval.Elicited
	From  string // who asks
	env   string
	rpc   []byte
	bytes int // of its params
	timer *time.Timer
	away  bool // who asks has left the topic; guarded by the mu of the inbox
}

// A Client is one participant of a topic, which serves nothing.
type Client struct {
	opt       Options
	connector *localgateway.Connector
	seat      *topic.Seat

	seated  chan struct{} // closed at the first welcome
	ended   chan struct{} // closed when the seat is given up
	leave   context.CancelFunc
	pending pendingAnswers

	mu          sync.Mutex
	dialect     wire.Dialect
	you         wire.Participant
	roster      map[string]wire.Participant
	initialized map[string]bool         // peers that have been initialized
	starting    map[string]startingWord // those that say that they have not come up yet
	gaps        int                     // how often we had no seat, or somebody who owes us an answer
	err         error                   // why the seat was given up
	proposals   []*ProposalWait
}

// A startingWord is what somebody says of its start.
type startingWord struct {
	words string
	told  time.Time // when such words were passed on last
}

// A pendingAnswer is an answer to one envelope that has not come yet.
type pendingAnswer struct {
	env      string
	to       string       // who may answer; "" for anybody
	done     func(Answer) // called at most once, when this has been taken out of the table
	progress func(params []byte)

	proposal    *ProposalWait // our proposal, if the envelope is a request for it; done is nil then
	by          string        // who made that request
	forProposal bool          // the envelope is the proposal itself, which whom we asked may answer
}

// pendingAnswers holds all answers that have not come yet. The zero value is ready for use.
type pendingAnswers struct {
	mu  sync.Mutex
	all map[string][]*pendingAnswer // by envelope
}

// A Proposal is a tool call that somebody else is to make.
type Proposal struct {
	To        string     // the only one it is put to; "" if it is for all
	Tool      string     // of another method than tools/call: what that is in words
	Arguments []byte     // a JSON object; of another method its params
	Offer     wire.Offer // what it asks for beside the call; Params are made of Tool and Arguments
	Style     wire.Style

	// Say hears what others say and do about it, a sentence each that is fit to be
	// shown; nil: nobody does. It is called with a lock held, and must not come back.
	Say func(words string)

	// Limit is how long it is waited for, as for a call; nobody reports Progress. Where its Time
	// is 0, only the context of Wait ends that, whoever decides.
	Limit Limit
}

// A ProposalWait is one proposal of ours, until something has come of it.
type ProposalWait struct {
	Proposal
	ID string // by which it can be withdrawn

	c        *Client
	done     chan Result   // buffered; written once
	late     chan struct{} // buffered; the time of its Limit is over
	decision *decision     // nil: there is no Limit
	gaps     int           // those of c when it was proposed

	mu      sync.Mutex
	refused []Rejection
	sayings int               // how often somebody said something about it
	agreed  map[string]string // that people agreed, by the word of participants that have not begun
	decider string            // who says that people decide; "" for nobody
	over    bool
}

// A Rejection is what one participant has against it.
type Rejection struct {
	From   string `json:"from"`
	Reason string `json:"reason"`
	Detail string `json:"detail,omitempty"`
	Say    string `json:"say,omitempty"` // in the words of By
	By     string `json:"by,omitempty"`  // who decided; "": the rules of From
}

// A Result is what came of a proposal.
type Result struct {
	From     string // who did it
	Answer   Answer
	Begun    bool        // somebody has begun, and may do it yet
	Kept     error       // why the proposal could not be taken back when the wait was given up
	Rejected []Rejection // of those who will not, oldest first
	err      error
}

// New returns a client that joins through way. It does nothing before Dial or Start, and
// does not close way.
func New(way *localgateway.Connector, o Options) *Client {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	c := &Client{opt: o, connector: way, seated: make(chan struct{}), ended: make(chan struct{}),
		roster: map[string]wire.Participant{}, initialized: map[string]bool{}, starting: map[string]startingWord{}}
	if o.Approvals != nil {
		o.Approvals.c = c
	}
	return c
}

// Dial takes the seat, and waits for it for ten seconds at most. It is called once, and
// Close after it if it returned nil. The seat outlives ctx until Close. The error is a
// [*fault.Error] that says why there is no seat, or the cause of ctx.
func (c *Client) Dial(ctx context.Context) error {
	c.connector.Join.MaxWaitFirst, c.connector.Join.Yields = joinTime, c.opt.Yields
	if err := c.Start(ctx); err != nil {
		return err
	}
	select {
	case <-c.seated:
		return nil
	case <-c.ended:
		return c.Err()
	case <-ctx.Done():
		c.Close()
		return context.Cause(ctx)
	}
}

// Start is Dial that does not wait, for those who want the seat whenever it can be had: Done
// and Err say if it cannot. Its own error says that there is no way to try.
func (c *Client) Start(ctx context.Context) (err error) {
	if c.seat, err = c.connector.Seat(); err != nil {
		return err
	}
	run, leave := context.WithCancel(context.WithoutCancel(ctx)) // so that frames can be sent after ctx has ended
	c.leave = leave
	go func() {
		err := localgateway.Fault(c.seat.Run(run, c))
		c.mu.Lock()
		c.err = cmp.Or(err, error(&fault.Error{Exit: fault.Failed}))
		c.mu.Unlock()
		close(c.ended)
	}()
	return nil
}

// Close leaves the topic, and waits until nothing that was started runs any more. Whoever
// still waits for an answer gets an error. It comes after Dial or Start, and may come again.
func (c *Client) Close() {
	c.leave()
	<-c.ended
}

// Done is closed when the seat is given up; Err then says why.
func (c *Client) Done() <-chan struct{} { return c.ended }

// Err is why the seat was given up, nil while it is not.
func (c *Client) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Me is our id as the gateway has it, "" before the first welcome.
func (c *Client) Me() string { return c.You().ID }

// isToUs reports whether a word may be about something of ours: it is said to us, or to all.
// Everybody sees the ids of what we send, and can send something of their own under the same
// ones, which is answered under them too.
func (c *Client) isToUs(e *wire.Envelope) bool {
	return len(e.To) == 0 || slices.Contains(e.To, c.Me())
}

// You is what the gateway says of us in the latest welcome.
func (c *Client) You() wire.Participant {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.you
}

// Dialect is what the topic speaks; the zero value before the first welcome.
func (c *Client) Dialect() wire.Dialect {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dialect
}

// Others are the participants beside us, by id.
func (c *Client) Others() []wire.Participant {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []wire.Participant
	for _, id := range slices.Sorted(maps.Keys(c.roster)) {
		if id != c.you.ID {
			all = append(all, c.roster[id])
		}
	}
	return all
}

// Present reports whether somebody else of that id is in the topic.
func (c *Client) Present(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, here := c.roster[id]
	return here && id != c.you.ID
}
