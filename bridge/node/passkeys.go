package node

import (
	"github.com/mcpx-protocol/mcpx-bridge/bridge/audit"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/keyring"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/passkey"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
)

var _ inbox.Keyholder = (*localInbox)(nil)

// keyring is the passkeys of this bridge.
func (n *Node) keyring() *keyring.Keyring {
	o := keyring.Options{Book: passkey.In(n.o.State.File("passkeys"), n.id), Answer: n.sidecar.Decide, Outcome: n.inbox.outcome,
		Put: func(r *record.Record) error {
			if err := putOnDisk(n.audit, r); err != nil {
				return err
			}
			n.sidecar.Say(r)
			return nil
		}}
	if n.audit != nil {
		o.Log = n.audit.ID()
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
