// Package token is how a bearer gets a token for a gateway, and what one may say.
//
// A [Source] has the token that a seat is taken with: one that does not change, one in a file
// that only its owner can read, or one that a command prints. File and command are asked
// anew whenever the gateway refuses the last token; a source that has nothing new then says so. A Source remembers what it gave out, and [Source.Hide] takes that out of any
// text, so that no trace of the traffic shows it. It may be used by several goroutines.
//
// [Capabilities] are what --role and --can ask for, as the JSON list of a token's claims;
// [InWords] says what a new token is good for, [Ends] until when one is good and what then, and
// [Keep] writes it where a Source finds it.
//
// Errors are *fault.Error with the name of the flag that is to blame; no error shows any part
// of a token. The only things done to the world: a file is read or written, a command is run without a
// shell, and ended after 30 s. What it has started is ended with it then, but not on Windows, and
// not where there is a terminal, at which it may be asking for a password.
package token
