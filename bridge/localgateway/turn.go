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
// the earlier out. Where nobody chose the id, or nothing can be locked in [Connector.State],
// nobody waits and nobody is known of.

// Turn waits until no other program of this machine asks something under our id, for so long at
// most, and says that it waits. Its error is a [fault.ID] if that took longer, or the cause of
// ctx. The caller closes what it returns when it has left the topic; that is nil where nobody has
// to wait.
func (c *Connector) Turn(ctx context.Context, most time.Duration) (*Held, error) {
	if !c.locks() {
		return nil, nil
	}
	who := c.Join.ID + " in " + c.Join.Topic
	for began, said := time.Now(), false; ; said = true {
		lock, err := c.State.hold(c.turnFile(), true)
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

// locks reports whether others of our id can be known of.
func (c *Connector) locks() bool { return !c.Derived && c.State != "" }

// Who checks for an approver has its lock for a moment. One looks so often, and so far apart,
// before it is taken for an approver's.
const (
	approverLooks = 20
	approverPause = 10 * time.Millisecond
)

// CheckApprover is for who is about to join, and has its [Connector.Turn] if it takes one. Its
// error is a [fault.ID] if another program of this machine answers questions under our id, which
// would be put out, or the cause of ctx; it takes 200 ms to be sure of that. Who answers too calls
// [Connector.HoldApprover] before it, and is not told of others who do.
func (c *Connector) CheckApprover(ctx context.Context) error {
	if c.approver || !c.locks() {
		return nil
	}
	for range approverLooks {
		lock, err := c.State.hold(c.approverFile(), true)
		if lock != nil || err != nil {
			lock.Close()
			return nil
		}
		if !pause.For(ctx, approverPause) {
			return context.Cause(ctx)
		}
	}
	return fault.New(fault.ID, "give this one another --id, or end approve", "approve has the seat of %s in %s on this machine, and nothing was done", c.Join.ID, c.Join.Topic)
}

// HoldApprover has [Connector.CheckApprover] fail for others who join under our id on this
// machine, until the caller closes what it returns. Several may hold it at a time. It waits for
// who checks, 200 ms at most, and has no error: it returns nil where it cannot be held, and then
// nobody knows of us.
func (c *Connector) HoldApprover(ctx context.Context) *Held {
	if !c.locks() {
		return nil
	}
	for range approverLooks {
		if lock, err := c.State.hold(c.approverFile(), false); lock != nil || err != nil {
			c.approver = lock != nil
			return lock
		}
		pause.For(ctx, approverPause)
	}
	return nil
}

// ClaimID makes the id that was chosen for us ours alone on this machine. Two clients with one
// id put each other out of the topic every half minute, for ever, and nobody said so (FINDINGS
// P18). At this machine's own gateway the second gets a number behind it; elsewhere a token may
// be for this very id, so it is told. It waits for one who is about to leave, ClaimTime at most,
// and says what comes of it in the log; it has no error.
func (c *Connector) ClaimID(ctx context.Context) {
	if !c.locks() {
		return
	}
	free := func(id string) bool {
		ours, err := c.tryID(c.State, id)
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
