package hub

import (
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// A Member is one participant's stay in a topic. A second session under the same id is
// another member. Its exported fields do not change once it has joined; they are all that
// other hubs need to know of it.
type Member struct {
	ID      string
	Caps    wire.Caps
	Dialect wire.Dialect
	Epoch   int64 // of the lease of its seat

	sink    Sink
	local   bool                   // this hub serves it
	inline  bool                   // what the sink says of itself
	atLog   atomic.Int64           // bytes of what it has said and the log has not answered for
	crowds  atomic.Pointer[Member] // who got what it said and is half full; taken by Session.Ease
	eased   chan struct{}          // has one element when the log is behind no more
	refused atomic.Int64           // frames. The first one is worth a warning; a line for each would let a participant fill the disk
	state   state                  // guarded by its topic's lock
}

// A state is how far a member's stay has come.
type state uint8

const (
	coming  state = iota // its entry is not delivered yet
	seated               // between join and leave
	leaving              // it has ended here, and its leave is not delivered yet
	gone                 // refused, replaced or left
)

func (m *Member) participant() wire.Participant {
	return wire.Participant{ID: m.ID, Name: m.ID, Caps: m.Caps}
}

// fault returns the frame that tells the member what is wrong with one of its own.
func (m *Member) fault(f wire.Fault) []byte {
	return m.Dialect.AppendFault(nil, uuid.NewString(), wire.Stamp(time.Now()), m.ID, f)
}

// mostAtLog is how many bytes of one participant may wait for a log: two of the largest frames. A
// log that keeps up, as the one in memory does, never lets anything wait.
const mostAtLog = 2 * MaxFrame

// publishes notes that n more bytes go to the log, unless others wait there and these are too many.
func (m *Member) publishes(n int) bool {
	if was := m.atLog.Add(int64(n)) - int64(n); was > 0 && was+int64(n) > mostAtLog {
		m.atLog.Add(int64(-n))
		return false
	}
	return true
}

// behind reports whether more than half of that waits.
func (m *Member) behind() bool { return m.atLog.Load() > mostAtLog/2 }

// settled notes that the log has answered for n bytes.
func (m *Member) settled(n int) {
	if now := m.atLog.Add(int64(-n)); now <= mostAtLog/2 && now+int64(n) > mostAtLog/2 {
		select {
		case m.eased <- struct{}{}:
		default:
		}
	}
}

// names are the ids of members.
func names(members []*Member) (ids []string) {
	for _, m := range members {
		ids = append(ids, m.ID)
	}
	return ids
}

// absent returns those whom a request or a proposal is for and who are not among members.
func absent(e *wire.Envelope, members map[string]*Member) (ids []string) {
	if e.Kind != wire.Request && e.Kind != wire.Proposal {
		return nil
	}
	for _, id := range e.To {
		if members[id] == nil {
			ids = append(ids, id)
		}
	}
	return ids
}
