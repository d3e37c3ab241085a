package node

import (
	"github.com/mcpx-protocol/mcpx-bridge/bridge"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/audit"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/keyring"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/passkey"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
)

var _ inbox.Keyholder = (*localInbox)(nil)

// newKeyring is the passkeys of a bridge, whose enrolments are on record in log; nil: none is kept.
func newKeyring(book *passkey.Book, log *audit.Log, sidecar *bridge.Sidecar, in *localInbox) *keyring.Keyring {
	o := keyring.Options{Book: book, Answer: sidecar.Decide, Outcome: in.outcome, Put: func(r *record.Record) error {
		sidecar.Settle() // a yes that counted stands before that its passkey is removed
		if err := putOnDisk(log, r); err != nil {
			return err
		}
		sidecar.Say(r)
		return nil
	}}
	if log != nil {
		o.Log = log.ID()
	}
	return keyring.New(o)
}

// putOnDisk waits until a record is on the disk, where a log is kept.
func putOnDisk(log *audit.Log, r *record.Record) error {
	if log == nil {
		return nil
	}
	if err := log.Append(r.ForAudit()); err != nil {
		return err
	}
	done := make(chan error, 1)
	log.Sync(func(err error) { done <- err })
	return <-done
}

// Passkeys is that of inbox.Keyholder.
func (l *localInbox) Passkeys() inbox.Passkeys {
	if p := l.here(); p != nil {
		return p.keys
	}
	return nil
}
