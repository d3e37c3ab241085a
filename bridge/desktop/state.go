package desktop

import (
	"crypto/sha256"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/server"
)

// A Config says how a topic is shown. It may not be changed after New.
type Config struct {
	Version  string        // of this program
	NewID    func() string // for tickets; nobody must be able to guess them
	Patience time.Duration // how long a call may take before its caller gets a ticket; default 50 s
	MaxName  int           // default 46, at least LeastName, at most MaxName
	Limit    int           // most tools that are shown, those of our own included; 0: all. At least LeastLimit
	Card     bool          // clients that show apps get a card on which their person answers questions

	// Include and Exclude are patterns for peer/name of what is shown and may
	// be called; * stands for any characters. No Include means everything.
	Include, Exclude []string
}

// LeastLimit is the smallest limit that leaves room for a peer's tool.
const LeastLimit = ownCount + 1

// How long things take.
const (
	openTime    = 5 * time.Second        // most that a first list waits for those present at joining
	stayTime    = 30 * time.Second       // how long a departed peer's tools stay (WIRE 9.3)
	leaveTime   = 5 * time.Second        // after which a peer that left will not answer any more
	listTime    = 15 * time.Second       // most for one page of a list
	greetTime   = 2 * time.Second        // after which who does not answer initialize is asked what it has
	freshTime   = 5 * time.Minute        // after which a list is asked for again
	gatherTime  = 250 * time.Millisecond // in which changes of one peer become one request
	batchTime   = 500 * time.Millisecond // in which changes of many become one notification
	ticketTime  = 15 * time.Minute       // how long an answer is kept for who has a ticket
	silenceTime = time.Hour              // after which a call that was not heard of again is given up
	againTime   = 5 * time.Second        // after which a question is asked again whose answer could not be sent; later twice as long each time
	lostTime    = 2 * time.Minute        // the same for one whose answer may be lost, with a link or with a peer that came back
)

// Bounds on what others can make us keep.
const (
	maxPages    = 50        // of one list
	MaxTools    = 512       // tools of one participant
	maxListed   = 1000      // definitions of one list
	maxTold     = 20        // of one list that are not offered, told by name
	MaxListSize = 4 << 20   // bytes of them
	maxCalls    = 1000      // calls under way, or answered and not fetched
	maxOpen     = 2000      // requests of the client under way
	maxDialogs  = 8         // questions before the person at one time
	maxShown    = 64 << 10  // bytes of a question in a client's dialog
	maxPeers    = 256 << 10 // bytes of what mcpx_peers says of all, the same for each
	maxName     = 200       // bytes of a tool's name there
)

// A Proxy shows a topic to one client. It does no I/O and has no clock: the same
// events at the same times give the same acts. It is not safe for use by
// several goroutines at one time.
type Proxy struct {
	c        Config
	protocol *server.MCPServer
	own      [][]byte // the definitions of our own tools
	ownApps  [][]byte // the same for who shows apps
	info     string   // who we are, as JSON; in the modern revision every result says so in its _meta
	choice   Choice
	clock    clock
	acts     []Act
	lastRef  uint64
	asks     map[uint64]*asking
	client   client
	ui       []byte              // what it says of the apps that it shows, raw; nil if it shows none
	requests map[string]*request // of the client, under way, by raw id
	heard    int                 // how many there were
	subs     []*request          // those that listen for changes, in order

	me, topic string
	announced bool // that there is something to be seen
	seated    bool
	why       string // the seat is gone
	greets    bool
	first     map[string]bool // who was there at the first joining; nil before
	peers     map[string]*peer
	known     map[string]*acquaintance // by id
	catalogue [len(kinds)]catalogue

	calls     map[string]*call     // that the same call would join, by peer, tool and arguments
	tickets   map[string]*call     // by ticket
	rounds    map[string]*round    // of questions that a client asks on our behalf, by state
	questions []*question          // oldest first
	dialogs   map[string]*question // elicitations the client has open, by id
	dialogged int                  // how many there have been

	cardKey    string // what the page of the card has; "" until it was read
	cardTicket string // what the call has that shows it; "" until there was one
	cardClosed bool   // others' pages are in the client
}

// A client is what is known of who speaks to us.
type client struct {
	ready   bool // it shook hands, so it is told of changes
	elicits bool // it said that it puts questions to its person
	apps    bool // it said that it shows apps
}

// A request is one of the client's, under way.
type request struct {
	id      []byte // raw
	seq     int    // in the order in which they came
	method  string
	params  []byte
	why     string // why its client makes it; "" if it does not say
	token   []byte // raw; nil if it does not want to hear of progress
	modern  bool
	elicits bool // its client puts questions to its person
	apps    bool // its client shows apps, and keeps from models what is for these alone
	ended   bool
	away    func() // undoes what waits for it, when it ends or is cancelled; may be nil

	what     string   // which tool, with which arguments
	reads    string   // the address that it reads, "" if it reads none
	own      string   // which of our own tools, "" if it is none
	args     []byte   // of that, raw
	promised bool     // the client expects an answer of a certain form
	call     *call    // that it waits for
	sent     *sending // the same for what is no call
	answers  bool     // it waits until there are no questions to us
	settled  []string // what became of questions meanwhile
	listens  []string // notifications that it wants
}

// A question waits for the person at the client.
type question struct {
	Question
	shown  bool          // the client has it before its person, or its answer is on its way or waits to be asked for again
	failed bool          // the client could not; it is answered elsewhere
	pause  time.Duration // until it is asked again after its answer could not be sent, the last time; 0: never yet
	again  *alarm        // when it is asked again

	nonce string   // with which the card answers it, once; "" until the card has it
	said  string   // of the answer that was passed on, what it is
	card  *request // of the card, that waits for what comes of that answer
}

// A round is an answer input_required of the modern revision: the client comes
// again with the same call, and with answers to what was asked.
type round struct {
	what    string      // the call that it has to come with
	call    *call       // nil if it was one of our own
	offered []*question // by their keys in the answer
	late    *alarm      // when it is over
}

// A call is one run of a peer's tool: asked for once, whoever waits for it.
//
//	under way -> answered -> fetched
//	    |  \-> ticket (patience ran out; it may be fetched with that) -/
//	    \-> cancelled (all who waited took it back, and nobody has a ticket)
type call struct {
	key     string
	pair    Pair
	ref     uint64
	waiting []*request
	ticket  string   // "" until somebody needs one
	note    string   // what the peer says it waits for
	answer  Answered // once done
	done    bool
	course  // whose alarm is also for when the answer is forgotten
}

// A waiting is a request that waits for those who were there at first.
type waiting struct {
	r    *request
	then func()
}

// A catalogue is what the client is shown of one kind.
type catalogue struct {
	names *Names // of tools and prompts

	list    []byte            // as a client that shows apps gets it; nil if it has to be made anew
	plain   []byte            // as others get it: without what is for apps alone
	count   int               // of the latter
	told    [sha256.Size]byte // of what the client knows
	telling *alarm            // when it is told of changes
	omitted int               // how many the limit left out

	opened  bool // no list waits for anybody any more
	opening *alarm
	held    []waiting
}

// A kind is one of the things that a server lists.
type kind struct {
	method string // that lists them
	member string // of the result
	key    string // the member that a definition is known by
	change string // the notification that says that there are others
}

// one is what a thing of a kind is called.
func (k kind) one() string { return strings.TrimSuffix(k.member, "s") }

var kinds = [...]kind{
	tools:     {methodListTools, "tools", "name", toldToolsChanged},
	prompts:   {methodListPrompts, "prompts", "name", toldPromptsChanged},
	resources: {methodListResources, "resources", "uri", toldResourcesChanged},
	templates: {methodListTemplates, "resourceTemplates", "uriTemplate", toldResourcesChanged},
}

const (
	tools = iota
	prompts
	resources
	templates
)

// A definition is one thing that a peer offers.
type definition struct {
	key     string // by which the peer knows it
	fields  []field
	answers bool // a tool that promises an answer of a certain form
	appOnly bool // a tool that is not for models

	modelOnly bool // one that is not for apps
}

func (d *definition) get(name string) []byte {
	for _, f := range d.fields {
		if f.name == name {
			return f.value
		}
	}
	return nil
}

// An identity is what a peer's server says of itself, fit to be shown. It is the server's
// own word.
type identity struct {
	Name     string   `json:"name,omitempty"`
	Version  string   `json:"version,omitempty"`
	Provides []string `json:"provides,omitempty"`
}

// An acquaintance is what is known of whoever sat last under an id, also when they are
// forgotten as peers.
type acquaintance struct {
	identity
	said   bool              // identity is something
	tools  [sha256.Size]byte // their definitions
	listed bool              // tools is something
	left   bool              // they have gone since
}

// A peer is another participant, here or lately gone.
type peer struct {
	Peer
	here    bool
	greeted bool
	lists   listings
	hello   uint64 // the handshake under way, 0 for none
	slow    *alarm // when it is not waited for any more
	gone    *alarm // when its tools go
	silent  *alarm // when it will not answer any more

	who        identity
	identified bool      // it was asked who it is, since it came
	fresh      bool      // it has not listed its tools since it came
	before     *identity // who sat there before, if that was another; nil if not
	again      time.Time // when it came, if somebody had left that seat
}

// listings are what a peer offers, by kind.
type listings [len(kinds)]listing

// A listing is what a peer offers of one kind.
type listing struct {
	all     []definition // as it said last
	left    []omission   // what of it is not offered
	more    int          // and so many more
	settled bool         // it has said so once, or will not
	ref     uint64       // the request under way, 0 for none
	late    *alarm       // when that takes too long
	again   bool         // it changed while it was being asked for
	due     *alarm       // when it is asked for next
	soon    bool         // due is because of a change
	tries   int          // that failed in a row
	next    page
}

// A page is a list that is being put together.
type page struct {
	all  []definition
	size int
	seen map[string]bool // cursors
	left []omission
	more int // that are left out beside those
}

// An omission is something that a peer lists and that is not offered. Its name is
// fit to be seen.
type omission struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
	Why  string `json:"why"`
}

// An asking is a request to a peer under way.
type asking struct {
	to       string
	done     func(Answered)
	progress func(params []byte) // nil if nobody wants to know
}

// A course is how far something has come that a peer was asked for.
type course struct {
	at     float64
	moving bool   // at is something
	idle   *alarm // when it is given up
	shaken string // why its answer may be lost, "" if nothing says so
}

const ownCount = 4

// asker is the key of the request that a tool answers. Its arguments are read from there:
// the library does not get them, for mcpx_call has in them what is a peer's.
type asker struct{}

// errElsewhere: who called one of our own tools has been refused, waits for the answer of a
// peer, or is answered when the tool is called once more.
var errElsewhere = errors.New("it is answered elsewhere")

func (f *Proxy) do(a Act) { f.acts = append(f.acts, a) }

func (f *Proxy) note(text string) { f.do(Note{Text: text}) }

// noteOf notes what a peer has brought about, which may do so as often as it likes.
func (f *Proxy) noteOf(p *peer, text string) { f.do(Note{Text: text, By: p.ID}) }

// ids are those of all peers, in order.
func (f *Proxy) ids() []string { return slices.Sorted(maps.Keys(f.peers)) }

func (f *Proxy) inOrder() []*request {
	return slices.SortedFunc(maps.Values(f.requests), func(a, b *request) int { return a.seq - b.seq })
}

// Busy reports whether the client waits for an answer.
func (f *Proxy) Busy() bool { return len(f.requests) > len(f.subs) }

// A sending is what a peer was asked for one request, beside tools.
type sending struct {
	ref  uint64
	pair Pair
	course
}
