// Package catalog is what the server offers: its tools, each with its schema, what it says
// of itself, and a fingerprint of all that tells what it is.
//
// A [Catalog] is built of the pages of a listing ([Catalog.Add]), holds against the one
// before which tools have changed ([Catalog.ChangedSince]), and says of a call whether it
// can work at all ([Catalog.Check]). Both schemas and arguments come from strangers: what
// would take the validator long is weighed before it runs, and refused.
//
// It asks the server nothing, and tells nobody anything: that is the Engine's.
package catalog
