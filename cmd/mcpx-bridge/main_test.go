package main

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/stdiotest"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/stdiotest/watchdog"
)

// The scripts run the program itself, as a process of its own, and a server
// that does what its one argument, a stdiotest.Script in JSON, says.
func TestMain(m *testing.M) {
	testscript.Main(leakless{m}, map[string]func(){"mcpx-bridge": main, "server": playServer, "journal": playJournal, "tinydisk": playTinyDisk})
}

// leakless fails a run that leaves goroutines behind.
type leakless struct{ *testing.M }

func (l leakless) Run() int {
	if signal.Ignored(syscall.SIGHUP) { // we run under nohup; what the scripts start must not
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
	watchdog.Start()
	code := l.M.Run()
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// playServer is the program "server" of the scripts.
func playServer() {
	args := append(os.Args, "{}") // without an argument: a decent server
	os.Args = append(args[:1:1], stdiotestArgs(args[1])...)
	os.Args = append(os.Args, args[2:]...)
	stdiotest.Main()
}

func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:           "testdata",
		Setup:         privateState,
		UpdateScripts: os.Getenv("UPDATE") != "",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"start": start, "entry": startEntry, "await": await, "said": said, "counts": counts, "says": sayTo, "closes": closeStdin, "field": field, "only": onlyAbout, "signal": signalActor, "exits": exits, "alive": alive, "mode": mode, "hosting": whoHosts, "crowd": crowd,
		},
	})
}

// privateState gives each script a state directory of its own, and no gateway
// of anybody else.
func privateState(e *testscript.Env) error {
	e.Setenv("XDG_STATE_HOME", filepath.Join(e.WorkDir, "state"))
	e.Setenv("GORACE", "atexit_sleep_ms=0")
	e.Setenv("KEPT", "yes") // something of a person's own
	e.Values[actorsKey{}] = &actors{env: e, byName: map[string]*actor{}}
	return nil
}
