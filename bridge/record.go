package bridge

import "encoding/json"

// A Record is one event as the owner sees it: a line of --json output and of
// the log (DESIGN sections 5 and 10). Fields that say nothing are left out.
type Record struct {
	Event    string   `json:"event"`
	Call     uint64   `json:"call,omitempty"` // our number of the call
	Env      string   `json:"env,omitempty"`  // envelope id
	From     string   `json:"from,omitempty"`
	Method   string   `json:"method,omitempty"`
	Tool     string   `json:"tool,omitempty"`
	Via      string   `json:"via,omitempty"`
	Verdict  string   `json:"verdict,omitempty"`
	Rule     string   `json:"rule,omitempty"`
	Outcome  string   `json:"outcome,omitempty"` // ok, tool_error, error, unknown
	Executed string   `json:"executed,omitempty"`
	Code     int      `json:"code,omitempty"`
	Reason   string   `json:"reason,omitempty"`
	Detail   string   `json:"detail,omitempty"`
	ID       string   `json:"id,omitempty"` // a participant: ourselves, or a peer
	State    string   `json:"state,omitempty"`
	Dialect  string   `json:"dialect,omitempty"`
	Tools    int      `json:"tools,omitempty"`
	PID      int      `json:"server_pid,omitempty"`
	Exit     int      `json:"exit,omitempty"`
	Signal   string   `json:"signal,omitempty"`
	RetryMS  int64    `json:"retry_after_ms,omitempty"`
	Count    int      `json:"count,omitempty"`
	Stderr   []string `json:"stderr,omitempty"`
}

// JSON is the record on one line, without a newline.
func (r Record) JSON() []byte {
	line, err := json.Marshal(r)
	if err != nil {
		panic(err) // strings and numbers alone cannot fail
	}
	return line
}
