package audit

import "time"

// Checks say what a log is verified against beside itself.
type Checks struct {
	Witnesses []Witness

	// Partial accepts that the log does not begin with record 1, because
	// the files before were put elsewhere.
	Partial bool

	// Bridge is whose log it must be; "": anybody's. Logs of earlier builds
	// do not say.
	Bridge string
}

// A Report is what [VerifyLog] has read, up to the fault if there is one.
type Report struct {
	OK         bool      `json:"ok"`
	Fault      *Fault    `json:"fault,omitempty"`
	Files      int       `json:"files"`
	Records    uint64    `json:"records"`
	First      uint64    `json:"first"`
	Last       uint64    `json:"last"`
	Head       string    `json:"head,omitempty"` // see [Head.String]
	From       time.Time `json:"from,omitzero"`
	To         time.Time `json:"to,omitzero"`
	Starts     int       `json:"starts"`                // calls that went to the server
	Signed     int       `json:"signed,omitempty"`      // answers whose passkeys' signatures were verified
	Unenrolled int       `json:"unenrolled,omitempty"`  // passkeys among them that were enrolled before the first record
	Unfinished []string  `json:"unfinished,omitempty"`  // calls that started and have no final record
	Checked    int       `json:"checkpoints"`           // checkpoints and witnesses that agree
	Unchecked  int       `json:"unchecked,omitempty"`   // those of records before the first
	Recoveries int       `json:"recoveries,omitempty"`  // times the log went on after a crash or a failure
	Losses     int       `json:"losses,omitempty"`      // times a file, or its end, was gone
	Jumps      int       `json:"clock_jumps,omitempty"` // times the wall clock was put forward or back
	Halts      int       `json:"halts,omitempty"`       // times the bridge was halted, or began so
	Halted     bool      `json:"halted,omitempty"`      // and it is, at the end
	Closed     bool      `json:"closed"`                // the last process that wrote to it closed it
	Log        string    `json:"log,omitempty"`         // its id; "": made by an earlier build
	Bridge     string    `json:"bridge,omitempty"`      // who wrote to it last
	Removed    uint64    `json:"removed,omitempty"`     // records before First whose removal is on record
	Noted      bool      `json:"noted"`                 // the note beside it was there, and agrees
}

// A Witness is a head that was told outside the log's files.
type Witness struct {
	Head Head
	Of   string // who says so, for people: "the topic"
}
