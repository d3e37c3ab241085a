package inbox

import (
	"context"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/passkey"
)

// Passkeys are those of a bridge. Its own page alone has them, which is where a yes counts that
// takes one: not [Public] nor [LookOnly], and no socket.
type Passkeys interface {
	// ToSign is the statement that a passkey is to sign for d, which allows, to count. Nothing
	// is decided by asking. The error is a [*Refusal] if the question takes none.
	ToSign(ctx context.Context, d Decision) (statement []byte, err error)

	// DecideSigned decides as the Decision did that the statement was made for, in the name of
	// the local person; of d only ID and Digest count.
	DecideSigned(ctx context.Context, d Decision, s Signature) (Outcome, error)

	// All lists those that are enrolled, the oldest first.
	All(ctx context.Context) ([]passkey.Credential, error)

	// Challenge is what a new passkey is to be made for. It is good for one Enrol within five
	// minutes.
	Challenge(ctx context.Context) ([]byte, error)

	// Enrol keeps a new passkey, and puts that on record before it counts.
	Enrol(ctx context.Context, e Enrolment) error

	// Remove takes one out by its [passkey.Credential.Key], puts that on record, and reports
	// whether there was one.
	Remove(ctx context.Context, key string) (bool, error)
}

// A Keyholder is an Inbox whose bridge has passkeys.
type Keyholder interface {
	// Passkeys are those of the bridge; nil while it has no place in the topic.
	Passkeys() Passkeys
}

// A Signature is a passkey's under a statement.
type Signature struct {
	Statement []byte
	Assertion passkey.Assertion
	Origin    string
}

// An Enrolment is a new passkey of the local person, and how it is called.
type Enrolment struct {
	Name         string
	Registration passkey.Registration
	Challenge    []byte
	Origin       string
}
