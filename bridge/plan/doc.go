// Package plan is leave for calls to come: which of them a [Plan] covers, how often and for
// how long, in a form that a stranger may send and people can read. It is data and nothing
// runs in it: a tool by its name, and for each argument the value, the values, or the folder
// that it may have.
//
// A plan is proposed by the method [Method], whose params are
//
//	{"items": [{"tool": "write_file", "uses": 20,
//	            "args": {"/path": {"under": "/srv/docs"}, "/text": {"any": true}}}],
//	 "seconds": 1800}
//
// A call is covered by an item that names its tool and says of every one of its arguments
// what it may be: one that is missing, one more, or one in another spelling of its name is
// not covered. Everything unclear is not covered either.
//
// The package is pure: it has no clock, state or I/O.
package plan
