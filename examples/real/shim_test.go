//go:build real

package real

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strconv"
	"sync"
	"testing"
	"time"
)

// A shim is the HTTP face of a server over stdio, for test suites that speak
// HTTP alone. A client that begins with initialize gets a process of its own; all
// that do not (2026-07-28) share one. It is as plain as it can be: every request
// is answered with a stream, and what it does not need to read stays as it is.
type shim struct {
	argv func(nth int) []string
	env  []string

	mu       sync.Mutex
	sessions map[string]*session // by Mcp-Session-Id, "" for those that have none
}

// shimmed is where a command is served over HTTP, until the test ends. The
// command may differ from process to process, of which the first is number 1.
func shimmed(t *testing.T, argv func(nth int) []string, env []string) (url string) {
	t.Helper()
	s := &shim{argv: argv, env: env, sessions: map[string]*session{}}
	door := httptest.NewServer(s)
	t.Cleanup(func() {
		for _, err := range s.end() {
			t.Error(err)
		}
		door.Close()
	})
	return door.URL + "/mcp"
}

// end ends every process, and says which of them had to be killed.
func (s *shim) end() (stuck []error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, one := range s.sessions {
		if !one.end() {
			stuck = append(stuck, fmt.Errorf("%q did not end with its input: %q", name, one.cmd.Args))
		}
	}
	return stuck
}

// A session is one process and those who wait for what it says.
type session struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	over chan struct{} // closed when the process has said its last

	mu      sync.Mutex
	asked   int
	streams map[string]*stream // open requests, by the id that the process knows
	newest  []*stream          // the same, oldest first; what is about none of them goes to the last
}

// A stream is the answer to one HTTP request. The id is nil for a GET.
type stream struct {
	id   json.RawMessage
	ours string
	said chan []byte // closed after the answer
}

func (s *shim) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var m fields
	if err == nil && r.Method == http.MethodPost {
		err = json.Unmarshal(body, &m)
	}
	one, name := s.session(r.Header.Get("Mcp-Session-Id"), m.text("method") == "initialize")
	switch {
	case err != nil:
		http.Error(w, err.Error(), http.StatusBadRequest)
	case one == nil:
		http.Error(w, "there is no such session", http.StatusNotFound)
	case r.Method == http.MethodDelete:
		one.end()
	case r.Method == http.MethodGet:
		one.answer(w, r, one.open(nil))
	case m["id"] == nil || m["method"] == nil:
		one.say(m)
		w.WriteHeader(http.StatusAccepted)
	default:
		w.Header().Set("Mcp-Session-Id", name)
		st := one.open(m["id"])
		m["id"] = json.RawMessage(st.ours)
		one.say(m)
		one.answer(w, r, st)
	}
}

// session finds the session of a request, or begins one.
func (s *shim) session(name string, begins bool) (*session, string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if begins {
		name = "session-" + strconv.Itoa(len(s.sessions)+1)
	}
	if s.sessions[name] == nil && (begins || name == "") {
		s.sessions[name] = launch(s.argv(len(s.sessions)+1), s.env)
	}
	return s.sessions[name], name
}

func launch(argv, env []string) *session {
	one := &session{cmd: exec.Command(argv[0], argv[1:]...), streams: map[string]*stream{}, over: make(chan struct{})}
	one.cmd.Env = env
	in, err := one.cmd.StdinPipe()
	if err != nil {
		return nil
	}
	out, err := one.cmd.StdoutPipe()
	if err != nil || one.cmd.Start() != nil {
		return nil
	}
	one.in = in
	go one.hear(out)
	return one
}

// end ends a process with its input, within half a minute, and reports whether
// that was enough.
func (one *session) end() bool {
	one.in.Close()
	late := time.AfterFunc(30*time.Second, func() { one.cmd.Process.Kill() })
	<-one.over
	return late.Stop()
}

// fields are the members of a message.
type fields map[string]json.RawMessage

func (m fields) text(name string) (text string) {
	_ = json.Unmarshal(m[name], &text) // "" for what is none
	return text
}

func (one *session) say(m fields) {
	line, err := json.Marshal(m)
	if err != nil {
		panic(err) // it was read before
	}
	one.mu.Lock()
	defer one.mu.Unlock()
	one.in.Write(append(line, '\n')) // who is gone answers nothing
}

// open has a request wait for what is said about it.
func (one *session) open(id json.RawMessage) *stream {
	one.mu.Lock()
	defer one.mu.Unlock()
	one.asked++
	st := &stream{id: id, ours: strconv.Itoa(one.asked), said: make(chan []byte, 1024)}
	if id != nil {
		one.streams[st.ours] = st
	}
	one.newest = append(one.newest, st)
	return st
}

// close forgets a stream, and reports whether it was open.
func (one *session) close(st *stream) bool {
	one.mu.Lock()
	defer one.mu.Unlock()
	for i, other := range one.newest {
		if other == st {
			one.newest = append(one.newest[:i:i], one.newest[i+1:]...)
			delete(one.streams, st.ours)
			return true
		}
	}
	return false
}

// answer passes on what is said to a request until it is answered. A client that
// goes away has cancelled it.
func (one *session) answer(w http.ResponseWriter, r *http.Request, st *stream) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	flush := http.NewResponseController(w).Flush
	flush()
	for {
		select {
		case line, more := <-st.said:
			if !more {
				return
			}
			fmt.Fprintf(w, "event: message\ndata: %s\n\n", line)
			flush()
		case <-r.Context().Done():
			if one.close(st) && st.id != nil {
				one.say(fields{"jsonrpc": json.RawMessage(`"2.0"`), "method": json.RawMessage(`"notifications/cancelled"`),
					"params": json.RawMessage(`{"requestId":` + st.ours + `}`)})
			}
			return
		case <-one.over:
			return
		}
	}
}

// hear passes on what the process says to its end.
func (one *session) hear(out io.Reader) {
	defer close(one.over)
	lines := bufio.NewReaderSize(out, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			one.cmd.Wait()
			return
		}
		var m fields
		if json.Unmarshal(line, &m) != nil {
			continue
		}
		if m["method"] != nil {
			one.tell(m, bytes.TrimSpace(line))
		} else {
			one.reply(m)
		}
	}
}

// reply is the answer to a request, under the id that the client gave it.
func (one *session) reply(m fields) {
	one.mu.Lock()
	st := one.streams[string(m["id"])]
	one.mu.Unlock()
	if st == nil || !one.close(st) {
		return
	}
	m["id"] = st.id
	if line, err := json.Marshal(m); err == nil {
		st.said <- line
	}
	close(st.said)
}

// subscription is how the revision without a handshake says which request a
// notification is about.
const subscription = "io.modelcontextprotocol/subscriptionId"

// tell passes on a notification or a request of the process's to the request that
// it names, under the id that the client gave that. What names none belongs to
// the request under way, for these suites make one at a time.
func (one *session) tell(m fields, line []byte) {
	one.mu.Lock()
	defer one.mu.Unlock()
	var about struct {
		Meta fields `json:"_meta"`
	}
	_ = json.Unmarshal(m["params"], &about) // then it names none
	to := one.streams[string(about.Meta[subscription])]
	switch n := len(one.newest); {
	case to != nil:
		line = bytes.Replace(line, []byte(`"`+subscription+`":`+to.ours), []byte(`"`+subscription+`":`+string(to.id)), 1)
	case n > 0 && about.Meta[subscription] == nil:
		to = one.newest[n-1]
	default:
		return // whoever asked is gone
	}
	select {
	case to.said <- line:
	default: // nobody reads
	}
}
