package localgateway

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"os"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/fault"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/pause"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/private"
)

// How those of one id on this machine keep out of each other's way: at a gateway the later puts
// the earlier out. Where nothing can be locked nobody waits and nobody is known of; a state of
// "" is no state directory.

// Turn waits until no other program of this machine asks something under our id, for so long at
// most, and says that it waits. Its errors are that it took too long, that somebody answers
// questions under that id, and the cause of ctx. The caller closes what it returns when it has
// left the topic; that is nil where nobody has to wait.
func (c *Connector) Turn(ctx context.Context, state StateDir, most time.Duration) (*Held, error) {
	turn, err := c.waitTurn(ctx, state, most)
	if err != nil {
		return nil, err
	}
	if c.approves(ctx, state) {
		turn.Close()
		return nil, c.taken()
	}
	return turn, nil
}

func (c *Connector) waitTurn(ctx context.Context, state StateDir, most time.Duration) (*Held, error) {
	if c.Derived || state == "" {
		return nil, nil
	}
	who := c.Join.ID + " in " + c.Join.Topic
	for began, said := time.Now(), false; ; said = true {
		lock, err := state.hold(c.turnFile(), true)
		if lock != nil || err != nil {
			return lock, nil
		}
		if !said {
			c.log().Info("another program here is " + who + ", so this one waits until it is done")
			c.log().Info("hint: with another --id it need not wait")
		}
		if time.Since(began) > most {
			return nil, fault.New(fault.ID, "give each its own --id; --timeout waits longer", "another program here is still %s, and nothing was asked", who)
		}
		if !pause.For(ctx, FreeAgain) {
			return nil, context.Cause(ctx)
		}
	}
}

// Apart is for who is about to join without a turn: its error says that another program of this
// machine answers questions under our id, which would be put out.
func (c *Connector) Apart(ctx context.Context, state StateDir) error {
	if !c.answers && c.approves(ctx, state) {
		return c.taken()
	}
	return nil
}

func (c *Connector) taken() error {
	return fault.New(fault.ID, "give this one another --id, or end approve", "approve has the seat of %s in %s on this machine, and nothing was done", c.Join.ID, c.Join.Topic)
}

// approves reports whether somebody on this machine answers questions under our id. Somebody else
// who looks has the lock for a moment, and is not taken for that somebody.
func (c *Connector) approves(ctx context.Context, state StateDir) bool {
	if c.Derived || state == "" {
		return false
	}
	for range 20 {
		seat, err := state.hold(c.approverFile(), true)
		if seat != nil || err != nil {
			seat.Close()
			return false
		}
		pause.For(ctx, 10*time.Millisecond)
	}
	return true
}

// HoldSeat keeps those who ask something under our id on this machine from taking our seat until
// the caller closes what it returns, which is nil where nothing can be locked. Several may have it.
func (c *Connector) HoldSeat(ctx context.Context, state StateDir) *Held {
	if c.Derived || state == "" {
		return nil
	}
	for range 20 { // one who looks has it for a moment
		if seat, err := state.hold(c.approverFile(), false); seat != nil || err != nil {
			c.answers = seat != nil
			return seat
		}
		pause.For(ctx, 10*time.Millisecond)
	}
	return nil
}

// ClaimID makes the id that was chosen for us ours alone on this machine. Two clients with one
// id put each other out of the topic every half minute, for ever, and nobody said so (FINDINGS
// P18). At this machine's own gateway the second gets a number behind it; elsewhere a token may
// be for this very id, so it is told.
func (c *Connector) ClaimID(ctx context.Context, state StateDir) {
	if c.Derived || state == "" {
		return
	}
	free := func(id string) bool {
		ours, err := c.tryID(state, id)
		return err != nil || ours
	}
	id := c.Join.ID
	for began := time.Now(); !free(id); {
		if time.Since(began) > ClaimTime || !pause.For(ctx, FreeAgain) {
			break
		}
	}
	if c.HoldsID() {
		return
	}
	c.log().Warn("another program on this machine goes by the id " + id + " already")
	if c.Local == nil || c.Bears {
		c.log().Warn("hint: give each client its own --id: under one id they put each other out of the topic")
		return
	}
	for n := 2; ; n++ {
		if next := Numbered(id, n); free(next) {
			c.Join.ID = next
			c.log().Warn("so this client is " + next + ", and questions for " + id + " are not put here")
			c.log().Warn("hint: --id gives it a name of its own")
			return
		}
	}
}

// turnFile is the lock of those who join a topic under one id for as long as they ask
// something: of two at a time the later would put the earlier out, and its answer be lost.
func (c *Connector) turnFile() string { return c.lockFile("turn-") }

// approverFile is the lock that those share who answer questions in a topic under one id, so
// that who asks something under it does not put them out.
func (c *Connector) approverFile() string { return c.lockFile("approve-") }

func (c *Connector) lockFile(kind string) string {
	at := ""
	if c.Local == nil {
		at, _ = c.Where()
	}
	sum := sha256.Sum256([]byte(at + "\n" + c.Join.Topic + "\n" + c.Join.ID))
	return kind + hex.EncodeToString(sum[:16]) + ".lock"
}

// A Held file is locked, and is there no longer than somebody has it locked: ids come and go. A
// nil one is none.
type Held struct{ file *os.File }

// hold is [StateDir.Lock] or [StateDir.Share] for such a file. Who waits may lock one that has
// been taken away meanwhile, which keeps nobody out.
func (d StateDir) hold(name string, alone bool) (*Held, error) {
	for range mostRemovals {
		f, err := d.lock(name, alone)
		if f == nil || err != nil {
			return nil, err
		}
		if stillThere(f) {
			return &Held{f}, nil
		}
		f.Close()
	}
	return nil, errors.New("files here do not stay the same")
}

// mostRemovals is how often a file may be taken away while we lock it.
const mostRemovals = 1000

func stillThere(f *os.File) bool {
	ours, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Lstat(f.Name())
	return err == nil && os.SameFile(ours, there)
}

// Close gives the file back, and takes it away unless others have it too.
func (h *Held) Close() {
	if h == nil {
		return
	}
	if alone, _ := private.Lock(h.file, true); alone && stillThere(h.file) {
		os.Remove(h.file.Name()) // where that fails it stays, and means nothing
	}
	h.file.Close()
}

func (c *Connector) log() *slog.Logger { return cmp.Or(c.Join.Log, slog.New(slog.DiscardHandler)) }
