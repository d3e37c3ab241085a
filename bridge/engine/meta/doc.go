// Package meta is what stands beside the arguments of a request and beside a result: which of it
// is judged ([Parts]), which passes as the protocol's own ([Passed]), why a caller says that it
// makes the call ([TakeWhy], [Unjustifiable]), what a server's revision demands and what is at
// odds with that ([Lacking], [Clash]), and what we put into the _meta of an answer ([Put],
// [PutProvides]).
//
// It is the Engine's, save [ProvidesKey], which clients read. Its functions know no state, and
// change nothing that they are given; what they return may be that, or refer to it, and nobody
// may change either.
package meta
