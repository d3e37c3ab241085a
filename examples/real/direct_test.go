//go:build real

package real

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"
)

// An answer is what a server wrote about one call, byte for byte.
type answer struct {
	id       string   // as we gave it
	line     string   // the response
	progress []string // the progress notifications before it
}

// direct asks a server everything in a script over its own pipes.
func direct(t *testing.T, argv, env []string, script []call) []answer {
	t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), env...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stuck := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })
	defer stuck.Stop()
	lines := bufio.NewReaderSize(out, 1<<20)
	say(t, in, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"direct","version":"1"}}}`)
	await(t, lines, "0", "")
	say(t, in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	var all []answer
	for i, c := range script {
		a := answer{id: fmt.Sprint(700001 + i)}
		say(t, in, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, a.id, c.method, c.params))
		a.line, a.progress = await(t, lines, a.id, c.token)
		all = append(all, a)
	}
	in.Close()
	cmd.Process.Kill() // some do not end with their input
	cmd.Wait()
	return all
}

func say(t *testing.T, w io.Writer, line string) {
	t.Helper()
	if _, err := io.WriteString(w, line+"\n"); err != nil {
		t.Fatal(err)
	}
}

// await reads to the response with an id and returns it with the progress
// under a token that came before.
func await(t *testing.T, lines *bufio.Reader, id, token string) (line string, progress []string) {
	t.Helper()
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("waiting for the answer to %s: %v", id, err)
		}
		line = line[:len(line)-1]
		m := parse(t, line)
		switch {
		case m.Method == "" && string(m.ID) == id:
			return line, progress
		case m.Method == "notifications/progress" && string(m.Params.Token) == token:
			progress = append(progress, line)
		}
	}
}

// A message is as much of one as the tests look at.
type message struct {
	ID     json.RawMessage
	Method string
	Params struct {
		Token json.RawMessage `json:"progressToken"`
	}
}

func parse(t *testing.T, text string) (m message) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return m
}
