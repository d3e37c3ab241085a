// Package passkey verifies what passkeys say (WebAuthn, level 2), and keeps those of a bridge.
//
// A yes that a rule wants confirmed is signed by a passkey: over a [Challenge], which is the
// digest of a statement of all that would run. [Credential.Verify] finds out whether it is; the
// same is done again, offline, with the [Proof] that is on record. Passkeys come in by
// [Registration.Verify], are kept in a [Book], and serve pages under the name localhost alone.
//
// All cryptography is the standard library's. A key comes as the DER that browsers make of it, so
// no CBOR is read here, and no attestation: nobody here judges of which make a passkey is. A Book
// reads and writes its file, and nothing else here does any I/O.
package passkey
