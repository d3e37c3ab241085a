// Demo shows one call crossing, and one that does not: it puts the example
// notes server into a topic, looks around, and makes calls from a second
// participant. It builds what it needs, keeps to a directory of its own, and
// takes everything away again. The exit code is 0 only if all went as it says.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/examples/stage"
)

func main() {
	if err := demo(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// A step is one command: what it is for, and what must come of it.
type step struct {
	why  string
	args []string
	exit int
	says []string // in stdout, or in stderr if the exit is not 0
}

var steps = []step{
	{"Who is in the topic?",
		[]string{"who"}, 0, []string{"notes"}},
	{"Which tools does it bring?",
		[]string{"tools", "notes"}, 0, []string{"add_note", "delete_note"}},
	{"A call that a rule allows runs at the server, and its answer comes back.",
		[]string{"call", "notes", "add_note", "text=water the plants"}, 0, []string{"kept as note 1"}},
	{"So does this one.",
		[]string{"call", "notes", "list_notes"}, 0, []string{"1  water the plants"}},
	{"A call that a rule denies is refused at once. The server never hears of it.",
		[]string{"call", "notes", "delete_note", "id=1"}, 8, []string{"delete_note"}},
	{"The note is still there.",
		[]string{"call", "notes", "list_notes"}, 0, []string{"1  water the plants"}},
}

func demo(out io.Writer) (err error) {
	fmt.Fprintln(out, "Building mcpx-bridge and examples/notes-server …")
	s, err := stage.Set(stage.Bridge, stage.Notes)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Strike()) }()
	if err := open(out, s); err != nil {
		return err
	}
	for _, st := range steps {
		if err := st.play(out, s); err != nil {
			return err
		}
	}
	if err := s.Strike(); err != nil {
		return err
	}
	fmt.Fprintln(out, "\nThe bridge has left the topic, the server has ended, and nothing is left behind.")
	return nil
}

// open starts the bridge, which hosts the gateway too: there is none yet.
func open(out io.Writer, s *stage.Stage) error {
	args := []string{"run", "--listen", "127.0.0.1:0", "--allow", "add_*", "--allow", "list_*", "--deny", "delete_*"}
	tell(out, "A bridge starts the server, opens a topic on this machine, and says which tools others may call, and which not.",
		append(args, "--", "notes-server", "&"))
	p, err := s.Start(stage.Bridge, append(args, "--json", "--", s.Bin(stage.Notes))...)
	if err != nil {
		return err
	}
	line, err := p.Line()
	if err != nil {
		return err
	}
	p.Ignore()
	if !strings.HasPrefix(line, `{"event":"ready"`) {
		return fmt.Errorf("the bridge is not ready but says %s", line)
	}
	return nil
}

// play runs one step and checks what came of it.
func (st step) play(out io.Writer, s *stage.Stage) error {
	tell(out, st.why, st.args)
	got, err := s.Run(stage.Bridge, st.args...)
	if err != nil {
		return err
	}
	for line := range strings.Lines(got.Stdout + got.Stderr) {
		fmt.Fprint(out, "  ", line)
	}
	if st.exit != 0 {
		fmt.Fprintf(out, "  (exit code %d)\n", got.Exit)
	}
	if got.Exit != st.exit {
		return fmt.Errorf("exit code %d, should be %d", got.Exit, st.exit)
	}
	text := got.Stdout
	if st.exit != 0 {
		text = got.Stderr
	}
	for _, want := range st.says {
		if !strings.Contains(text, want) {
			return fmt.Errorf("it should have said %q", want)
		}
	}
	return nil
}

// tell shows a command as one would type it.
func tell(out io.Writer, why string, args []string) {
	fmt.Fprintf(out, "\n%s\n$ mcpx-bridge", why)
	for _, a := range args {
		if strings.ContainsAny(a, " *") {
			a = "'" + a + "'"
		}
		fmt.Fprint(out, " ", a)
	}
	fmt.Fprintln(out)
}
