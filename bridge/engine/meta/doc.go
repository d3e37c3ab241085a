// Package meta is what stands beside the arguments of a request and beside a result: which of it
// is judged ([Parts]), which passes as the protocol's own ([Passed]), why a caller says that it
// makes the call ([TakeWhy]), what a server's revision demands ([Lacking]), and what we put into
// the _meta of an answer ([Put], [PutProvides]).
//
// Its functions read and build bytes that were scanned before, know no state, and change
// nothing that they are given.
package meta
