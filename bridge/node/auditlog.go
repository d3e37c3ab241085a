package node

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/audit"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/fault"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// A witness is told the head of the audit every so often (DESIGN 10).
const (
	witnessEvery   = 5 * time.Minute
	witnessRecords = 256
	witnessLook    = time.Second
)

// openAudit opens the record of this bridge; nil if there is to be none. What it says of
// earlier runs goes to the Engine.
func (p *plan) openAudit(id string, changed func(error)) (*audit.Log, error) {
	if p.o.Record.Off {
		return nil, nil
	}
	how := p.auditOptions(id)
	how.About, how.OnChange = p.about(), changed
	log, found, err := audit.Open(p.o.Record.file(p.o.State, id), how)
	if err != nil {
		return nil, fault.New(fault.Audit, auditHint(err), "%w", err)
	}
	if err := p.closeOpen(log, found); err != nil {
		log.Close()
		return nil, fault.New(fault.Audit, "", "%w", err)
	}
	if found.Halted {
		p.haltedOnRecord()
	}
	p.engine.Seen, p.engine.DigestKey = seenIn(found), found.Key
	if err := p.replayLimits(found); err != nil {
		log.Close()
		return nil, err
	}
	return log, nil
}

func (p *plan) auditOptions(id string) audit.Options {
	limits := p.engine.Policy.Memory()
	return audit.Options{Mode: p.o.Record.Sync, Log: p.o.Log, Bridge: id, Runs: limits,
		KeepSize: p.o.Record.KeepSize, KeepFor: p.o.Record.KeepFor, Least: neededFor(limits)}
}

// tryAudit finds out what would keep openAudit from opening the record, and leaves that
// as it is. It returns where the record would be, and what is doubtful about it.
func (p *plan) tryAudit(id string) (path, doubt string, err error) {
	if p.o.Record.Off {
		return "", "", nil
	}
	path = p.o.Record.file(p.o.State, id)
	found, err := audit.Try(path, p.auditOptions(id))
	if err != nil {
		return path, "", fault.New(fault.Audit, auditHint(err), "%w", err)
	}
	return path, doubtOf(found), p.replayLimits(found)
}

// doubtOf is what is wrong with a log that was found; "" if nothing is.
func doubtOf(found audit.Found) string {
	if found.Fault == nil {
		return found.Lost
	}
	return cmp.Or(found.Lost, found.Fault.Error())
}

// replayLimits books what calls of earlier runs took from the limits of the
// policy, as far back as these look.
func (p *plan) replayLimits(found audit.Found) error {
	if far := p.engine.Policy.Memory(); far > 0 && time.Since(found.RunsFrom) < far {
		p.o.Log.Warn("limits do not count what ran before " + found.RunsFrom.Local().Format(time.DateTime) + ": the audit log has more than is read back")
	}
	for _, r := range found.Runs {
		var took []policy.Reservation
		if err := json.Unmarshal(r.Took, &took); err != nil {
			return fault.New(fault.Audit, "mcpx-bridge audit verify says whether the log was altered; --audit FILE begins a new log, and new limits",
				"the bridge cannot tell what is used of the limits: what call %s took cannot be read: %w", r.Call, err)
		}
		p.engine.Policy.Recall(&p.engine.Ledger, r.At, took)
	}
	return nil
}

func auditHint(err error) string {
	if errors.Is(err, audit.ErrLocked) {
		return "another bridge keeps this record: give this one another --id, or another --audit FILE"
	}
	return "--audit FILE keeps the record elsewhere; --audit off keeps none"
}

// closeOpen gives the calls that a crash cut short their last word: nobody
// knows what became of those that had started, and what was waiting for an
// answer expired with us (DESIGN 7).
func (p *plan) closeOpen(log *audit.Log, found audit.Found) error {
	if doubt := doubtOf(found); doubt != "" {
		p.o.Log.Warn("the audit log is not what it was", "fault", doubt)
	}
	for _, c := range found.Calls {
		if c.Ended || c.ID == "" {
			continue
		}
		r := map[string]any{"env": c.Env, "from": c.From, "tool": c.Tool, "outcome": "unknown", "executed": "unknown", "reason": "outcome_unknown_after_crash"}
		event := record.Ended
		if !c.Started {
			event, r["outcome"], r["executed"], r["reason"] = record.Rejected, "expired", "no", "expired_by_restart"
		}
		if err := log.Append(lastWord(event, c.ID, r)); err != nil {
			return err
		}
	}
	return nil
}

func lastWord(event record.Event, call string, members map[string]any) []byte {
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

// witness posts the head of the record when enough has happened, or enough time has
// passed, since it was last posted. It returns when ctx ends.
func witness(ctx context.Context, log *audit.Log, post func(engine.Checkpoint)) {
	look := time.NewTicker(witnessLook)
	defer look.Stop()
	var last audit.Head
	told := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
		head := log.Synced()
		if head.Seq <= last.Seq+1 || head.Seq-last.Seq < witnessRecords && time.Since(told) < witnessEvery {
			continue
		}
		post(engine.Checkpoint{Seq: head.Seq, Hash: hex.EncodeToString(head.Hash[:])})
		last, told = head, time.Now() // the record of this adds one, which is nothing new
	}
}

// closeAudit writes what is still to be written, and says that we end, because of err
// or as we should. That it could not be written is how we end then, or a word beside it.
func (p *plan) closeAudit(log *audit.Log, err error) error {
	if log == nil {
		return err
	}
	failed := log.Close()
	switch {
	case failed == nil:
		return err
	case err == nil:
		return fault.New(fault.Audit, "is there room on the disk? the next run says in it that it was not closed", "the audit log was not closed: %w", failed)
	}
	p.o.Log.Error("the audit log was not closed", "error", failed)
	return err
}

// neededFor is how long records must be kept whatever was told: limits and the memory
// of calls are read back from them.
func neededFor(limits time.Duration) time.Duration {
	return max(limits, seenFor)
}

// seenFor is how long a call is known again (DESIGN 14, "Once").
const seenFor = 15 * time.Minute
