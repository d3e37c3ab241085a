package catalog

import "errors"

// A call may cause so much work at the validator and no more, counted and never
// timed (FINDINGS M3): a list of many things against many alternatives, a pattern
// against a long text, or a reference that leads to itself twice, took seconds to
// check. What is beyond it is refused. One unit is about a nanosecond, and the
// policy has 20 million after that.
const maxCheck = 26_000_000

// ErrTooMuchToCheck refuses arguments that nobody knows to fit or not.
var ErrTooMuchToCheck = errors.New("there is too much in them to be checked against the tool's inputSchema")

// Work for one thing that the validator does.
const (
	workValue   = 120 // to make a value of JSON text
	workMember  = 480 // to find it a place in an object, and to hold its name against those of the schema
	workVisit   = 600 // to hold a value against a schema
	workCompare = 200 // to compare two values that hold no others
	workEscape  = 8   // to read one in a string, beside 3/4 for each byte
	workPass    = 5   // to go past one thing
	workLookup  = 50  // to ask a schema for a name
)
