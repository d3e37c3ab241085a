package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/audit"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// A witness is told the head of the audit every so often (DESIGN 10).
const (
	witnessEvery   = 5 * time.Minute
	witnessRecords = 256
	witnessLook    = time.Second
)

// openAudit opens the record of this bridge; nil if there is to be none. What
// it says of earlier runs goes into o; about is what its first record is to say of this one.
func (p *program) openAudit(id string, o *bridge.Options, about []byte, changed func(error)) (*audit.Log, error) {
	c := &o.Engine
	path, how, err := p.auditOptions(id, c, about)
	if err != nil || path == "" {
		return nil, err
	}
	how.OnChange = changed
	log, found, err := audit.Open(path, how)
	if err != nil {
		return nil, fail(exitAudit, auditHint(err), "%w", err)
	}
	if err := p.closeOpen(log, found); err != nil {
		log.Close()
		return nil, fail(exitAudit, "", "%w", err)
	}
	o.SyncAll = how.Mode.Waits(false)
	c.Seen, c.DigestKey = seenIn(found), found.Key
	if err := p.replayLimits(log.Path(), c); err != nil {
		log.Close()
		return nil, err
	}
	return log, nil
}

// auditOptions says where the record of a bridge is, and how it is kept; "" if there is
// to be none.
func (p *program) auditOptions(id string, c *engine.Config, about []byte) (path string, o audit.Options, err error) {
	if p.s.Audit == "off" {
		return "", o, nil
	}
	mode, err := audit.ParseMode(p.s.AuditSync)
	if err != nil {
		return "", o, misused("--audit-sync decisions", "--audit-sync: %w", err)
	}
	if path, err = p.auditPath(id); err != nil {
		return "", o, err
	}
	size, age, err := p.s.auditKeep()
	return path, audit.Options{Mode: mode, Log: p.log, Bridge: id, About: about,
		KeepSize: size, KeepFor: age, Least: neededFor(c.Policy.Memory())}, err
}

// tryAudit finds out what would keep openAudit from opening the record, and leaves that
// as it is. It returns where the record would be, and what is doubtful about it.
func (p *program) tryAudit(id string, c *engine.Config) (path, doubt string, err error) {
	path, how, err := p.auditOptions(id, c, nil)
	if err != nil || path == "" {
		return "", "", err
	}
	found, err := audit.Try(path, how)
	if err != nil {
		return path, "", fail(exitAudit, auditHint(err), "%w", err)
	}
	return path, doubtOf(found), p.replayLimits(path, c)
}

// doubtOf is what is wrong with a log that was found; "" if nothing is.
func doubtOf(found audit.Found) string {
	if found.Fault == nil {
		return found.Lost
	}
	return cmp.Or(found.Lost, found.Fault.Error())
}

// replayMost is how many bytes of a log are read for the sake of limits, in
// whole files; they are read at every start.
const replayMost = 256 << 20

// replayLimits books what calls of earlier runs took from the limits of the
// policy, as far back as these look.
func (p *program) replayLimits(path string, c *engine.Config) error {
	far := c.Policy.Memory()
	if far == 0 {
		return nil
	}
	since := time.Now().Add(-far)
	runs, reached, err := audit.Runs(path, since, replayMost)
	if err != nil {
		return limitsUnknown(err)
	}
	if reached.After(since) {
		p.log.Warn("limits do not count what ran before "+reached.Local().Format(time.DateTime)+": the audit log has more than is read back", "bytes", replayMost)
	}
	for _, r := range runs {
		var took []policy.Reservation
		if err := json.Unmarshal(r.Took, &took); err != nil {
			return limitsUnknown(fmt.Errorf("what call %s took cannot be read: %w", r.Call, err))
		}
		c.Policy.Recall(&c.Ledger, r.At, took)
	}
	return nil
}

func limitsUnknown(err error) error {
	return fail(exitAudit, "audit verify says whether the log was altered; --audit FILE begins another, and limits with it", "what limits were used cannot be told: %w", err)
}

func auditHint(err error) string {
	if errors.Is(err, audit.ErrLocked) {
		return "another bridge keeps this record: give this one another --id, or another --audit FILE"
	}
	return "--audit FILE keeps the record elsewhere; --audit off keeps none"
}

// auditPath is where the record of a bridge is kept by default.
func (p *program) auditPath(id string) (string, error) {
	if p.s.Audit != "" {
		return p.s.Audit, nil
	}
	home, err := stateHome(p.getenv)
	if err != nil {
		return "", err
	}
	return filepath.Join(string(home), "audit", id+".jsonl"), nil
}

// closeOpen gives the calls that a crash cut short their last word: nobody
// knows what became of those that had started, and what was waiting for an
// answer expired with us (DESIGN 7).
func (p *program) closeOpen(log *audit.Log, found audit.Found) error {
	if doubt := doubtOf(found); doubt != "" {
		p.log.Warn("the audit log is not what it was", "fault", doubt)
	}
	for _, c := range found.Calls {
		if c.Ended || c.ID == "" {
			continue
		}
		r := map[string]any{"env": c.Env, "from": c.From, "tool": c.Tool, "outcome": "unknown", "executed": "unknown", "reason": "outcome_unknown_after_crash"}
		event := "end"
		if !c.Started {
			event, r["outcome"], r["executed"], r["reason"] = "rejected", "expired", "no", "expired_by_restart"
		}
		if err := log.Append(lastWord(event, c.ID, r)); err != nil {
			return err
		}
	}
	return nil
}

func lastWord(event, call string, members map[string]any) []byte {
	rest, err := json.Marshal(members)
	if err != nil {
		panic(err) // strings alone cannot fail
	}
	head := fmt.Appendf(nil, `{"event":%q,"call":%s,`, event, call)
	return append(head, rest[1:]...)
}

func seenIn(found audit.Found) (seen []engine.Seen) {
	for _, c := range found.Calls {
		if c.Env != "" {
			seen = append(seen, engine.Seen{From: c.From, Env: c.Env, At: c.At, Body: c.Body})
		}
	}
	return seen
}

// auditChanged hears that records cannot be written, or can be again.
func (b *bridging) auditChanged(err error) {
	select {
	case <-b.joined:
	default:
		return // what fails before there is a sidecar is an error of the start
	}
	if err != nil {
		b.sidecar.Handle(engine.Unrecorded{Err: err})
	} else {
		b.sidecar.Handle(engine.AuditUp{})
	}
	b.sidecar.Flush()
}

// keepWitness posts the head of the audit to the topic when enough has
// happened, or enough time has passed, since it was last posted.
func (b *bridging) keepWitness(ctx context.Context) error {
	if b.audit == nil {
		<-ctx.Done()
		return nil
	}
	look := time.NewTicker(witnessLook)
	defer look.Stop()
	var last audit.Head
	told := time.Now()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-look.C:
		}
		head := b.audit.Synced()
		if head.Seq <= last.Seq+1 || head.Seq-last.Seq < witnessRecords && time.Since(told) < witnessEvery {
			continue
		}
		b.sidecar.Handle(engine.Checkpoint{Seq: head.Seq, Hash: hex.EncodeToString(head.Hash[:])})
		b.sidecar.Flush()
		last, told = head, time.Now() // the record of this adds one, which is nothing new
	}
}

// closeAudit writes what is still to be written, and says that we end, because of err
// or as we should. That it could not be written is how we end then, or a word beside it.
func (b *bridging) closeAudit(err error) error {
	b.sidecar.Leave()
	if b.audit == nil {
		return err
	}
	failed := b.audit.Close()
	switch {
	case failed == nil:
		return err
	case err == nil:
		return fail(exitAudit, "is there room on the disk? the next run says in it that it was not closed", "the audit log was not closed: %w", failed)
	}
	b.p.log.Error("the audit log was not closed", "error", failed)
	return err
}

// fresh128 are 128 bits that nobody can guess.
func fresh128() (r [16]byte) {
	rand.Read(r[:])
	return r
}

// newSession begins the names of this run's calls.
func newSession() string {
	r := fresh128()
	return hex.EncodeToString(r[:4]) + "-"
}
