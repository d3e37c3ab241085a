package hub

// A Log puts what happens in each topic into one order, and gives it to all who have opened
// the topic, in this process or in others. Hubs that share a log need the same limits, as each
// judges for itself what an entry changes.
type Log interface {
	// Open begins to hand the entries of a topic to a reader: first those that make it what it
	// is, which are who sits there and what is still remembered, then what comes. It does not
	// wait: a topic that is not to be had yet answers what is published with Reader.Lost.
	Open(topic string, to Reader) (Feed, error)
}

// A Feed is one hub's place at the log of a topic.
type Feed interface {
	// Publish adds an entry, which belongs to the log from then on. Entries that one goroutine
	// publishes keep their order. Each comes back to the reader exactly once, as the same
	// value: delivered, or lost. That may be before Publish returns or later, but not never:
	// the log gives up after a time of its own. Any goroutine may publish, also from within
	// Deliver and Lost; it holds no lock. Publish does not wait: a log that has no room for an
	// entry says that it is lost. It need not be afraid of too many: what one participant says
	// waits there with 32 MiB at most, and that it comes and goes are two more.
	//
	// A log that keeps or sends bytes has them of Entry.Append, while it is in Publish.
	Publish(e *Entry)

	// Close ends the feed: nothing is delivered any more. It does not wait.
	Close()
}

// A Reader is what a log hands entries to; each [Topic] is one. Its methods wait for nobody.
type Reader interface {
	// Deliver takes the next entry. One of another hub has a Who of its own, with the exported
	// fields; for one of this hub see Feed. A log that calls it from several goroutines leaves the
	// order to the reader: it is that in which the reader takes them.
	Deliver(e *Entry)

	// Lost says that an entry that was published here is not delivered. In doubt it may
	// still be delivered elsewhere.
	Lost(e *Entry, err error)

	// Idle says that nothing more is ready, or that 64 entries were delivered since the last time.
	// What was delivered leaves then. A log that delivers within Publish need not call it: who
	// publishes flushes.
	Idle()
}

// A Seat is what one participant at a time can have: an id in a topic.
type Seat struct{ Topic, ID string }

// Presence leases seats.
type Presence interface {
	// Take leases a seat, whoever has it, and tells the holder, before Take returns or later.
	// came grows with each session of this process, in the order in which their clients came.
	Take(s Seat, came int64, to Holder)

	// Release gives a lease back; one that has ended is left alone. It does not wait.
	Release(s Seat, epoch int64)
}

// A Holder is who gets a lease; each [Session] is one.
type Holder interface {
	// Leased answers Take, once. Of two leases of one seat the later one has the greater
	// epoch, which is over 0. With an error there is no lease.
	Leased(epoch int64, err error)

	// Expired says that a lease has ended and was not given back.
	Expired()
}

// A History keeps what was said lately in one topic. The topic calls it with its lock held,
// in the order of the log: it answers from memory and waits for nothing.
type History interface {
	Add(e *Entry)

	// Before returns at most limit entries that came before the one with the given id, or
	// before the given time (RFC 3339), newest first; before "" from the newest on. A limit
	// under 1 is none. The slice is the caller's. It and what it holds are read without the lock:
	// nobody changes an entry after Add. An error says that what it has lacks something.
	Before(mark string, limit int) ([]*Entry, error)
}
