// Package stdiotest is an MCP server for tests, played by the test binary
// itself, that does what real servers do wrong as readily as what they do
// right.
//
// A package that uses it launches what [Command] returns, with any environment:
//
//	argv := stdiotest.Command(t, stdiotest.Script{Revision: "2025-06-18"})
//
// The process plays the server from the init of this package on, and no test runs in it.
//
// The arguments hold neither blanks nor quotes, so they also survive in a
// command string.
//
// # Tools
//
// Nothing that a tool does reaches beyond the server's own process and pipes.
// Arguments are optional unless the schema says otherwise.
//
//	read_file   {path}                   text: "contents of PATH"
//	write_file  {path, content|text, mode 0..511}, no other
//	                                     text: "wrote N bytes to PATH"; nothing is written
//	delete_file {path}                   text: "deleted PATH"; nothing is deleted
//	delete_all  {}                       text: "deleted everything"; nothing is
//	deploy      {target: staging|production}
//	echo        anything                 the params as they came: as text, and raw in structuredContent.params
//	whoami      {}                       structuredContent: pid, cwd, args, env, nonblocking
//	exotic      {}                       an unknown content type and unknown members
//	slow        {ms}                     answers after ms (default 100); no answer if cancelled
//	wait        {}                       never answers; ends when cancelled
//	until       {path}                   answers when there is such a file
//	fail        {text}                   isError: true
//	rpcerror    {code, message, data}    a JSON-RPC error; default -32050 with data
//	progress    {n}                      n progress notifications for the call's token, then text
//	notify      {kind: list_changed|message|custom|METHOD, params}
//	                                     the notification, then text
//	flood       {n, method}              n notifications, then text
//	ask         {method, params, id}     a request to the client; text is its answer as it came
//	grow        {name}                   one more tool and tools/list_changed, then text
//	big         {bytes}                  that much text
//	stderr      {text, lines}            writes to stderr, then text
//	raw         {text|b64}               writes this instead of an answer, $ID replaced by the call's id
//	long        {bytes, then}            a line of so many bytes, then the text `then` as in raw
//	endless     {}                       a line without end
//	crash       {code}                   exits in the middle of the call (3)
//	close_stdout, close_stdin, stop_reading {}
//	                                     do so without an answer, and live on
//	hold_stdin  {}                       holds the lock of the pipe that is its stdin from the next line on (Linux)
//	fork        {session: bool}          leaves a grandchild that holds the pipes; text is its pid
//
// # Methods
//
// Besides those of the handshake and tools it knows ping, resources/list,
// resources/read, prompts/list, prompts/get, and test/echo, whose result is
// its params, byte for byte. Any other is -32601.
package stdiotest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"
)

// A Script is what the server does. The zero Script is a decent legacy server.
type Script struct {
	// Era is legacy (default), modern (refuses initialize) or dual.
	Era string
	// Revision is answered to initialize; default the one asked for.
	Revision     string
	Name         string // serverInfo.name; default "stdiotest"
	Instructions string

	// Initialize and Discover say how the method is met, if not by an answer:
	// refuse (an error), ignore or die (exit 1). By default a legacy server
	// refuses server/discover with -32601 and a modern one initialize with
	// -32022.
	Initialize, Discover string

	Delay int // ms until initialize is answered; other messages are taken meanwhile

	Start []string // written to stdout, one line each, before anything is read
	Early []string // the same before the answer to initialize

	Tools []string // shown by tools/list instead of those above, one JSON object each

	// ToolsFile names a file whose lines are shown by tools/list instead, as it is
	// when that is asked: so they can change without a word.
	ToolsFile string

	Record string // file to which every byte read from stdin is appended
	Pids   string // file to which our pid, and every grandchild's, is appended, one per line

	CRLF   bool   // lines end with \r\n
	Blank  bool   // a blank line before every line
	Pretty bool   // every message is spread over two lines
	Null   bool   // beside every result stands "error":null
	Answer string // written instead of the answer to any tools/call, as by the tool raw

	Stderr      []string // lines written to stderr at the start
	StderrFlood bool     // then more of them without end

	Exit     *int // exit with this status at the start, after Stderr
	Deaf     bool // never read stdin
	DieAfter int  // exit 3 on the n-th line read, without an answer

	IgnoreTerm, IgnoreEOF bool

	Grandchild string // group or session: leave one at the start, which holds our pipes for 1000 s

	// Flood is how many notifications are sent after the handshake; -1 is
	// without end.
	Flood int

	// Mark names a file. While it does not exist this script is played, and
	// the file made; after that Then is played. So the first launch can fail
	// and the second work.
	Mark string
	Then *Script
}

const (
	playServer  = "stdiotest-server"
	playSleeper = "stdiotest-sleeper"
)

// Command returns the arguments that make this test binary play s.
func Command(t testing.TB, s Script) []string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return []string{exe, playServer, base64.RawURLEncoding.EncodeToString(text)}
}

// Recorded returns the lines in the file of Script.Record, without their
// newlines; none if there is no file yet.
func Recorded(t testing.TB, path string) []string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	data = bytes.TrimSuffix(data, []byte("\n"))
	if len(data) == 0 {
		return nil
	}
	return strings.Split(string(data), "\n")
}

// Pids returns the numbers in the file of Script.Pids.
func Pids(t testing.TB, path string) []int {
	t.Helper()
	var pids []int
	for _, line := range Recorded(t, path) {
		pid, err := strconv.Atoi(line)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		pids = append(pids, pid)
	}
	return pids
}

func readScript(text string) (Script, error) {
	var s Script
	data, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(data, &s); err != nil {
		return s, err
	}
	for s.Mark != "" {
		if _, err := os.Stat(s.Mark); err != nil {
			return s, os.WriteFile(s.Mark, nil, 0o600)
		}
		if s.Then == nil {
			return Script{}, nil
		}
		s = *s.Then
	}
	return s, nil
}
