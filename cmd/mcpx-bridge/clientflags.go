package main

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/commandline"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/config"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/desktop/install"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/desktop/setup"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/node"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/token"
)

// What install and wrap are told for the bridge that a client will start goes
// into the entry's arguments.

// starters are the commands that a client can start. Their settings are not
// ours: we only look whether they are good, and pass them on.
type starters struct {
	apart      *program // whose settings they are
	run, serve *cobra.Command
}

func (p *program) starters() starters {
	apart := &program{env: p.env}
	return starters{apart, apart.runCommand(), apart.serveCommand()}
}

// checkRun reports what run would say of its flags when the client starts it, for
// there nobody sees it.
func (s starters) checkRun(p *program, t node.Target) error {
	s.apart.log, s.apart.s.Stdio = p.log, true
	o, err := s.apart.bridgeOptions(t)
	if err == nil {
		err = node.Check(o, s.apart.s.GateHost)
	}
	if err != nil {
		return err
	}
	if _, err := s.apart.checkedConnector(cmp.Or(s.apart.chosenID(true), t.ID()), true); err != nil {
		return err
	}
	return s.sayTokenEnd(p)
}

// checkServe is the same for serve.
func (s starters) checkServe(p *program) error {
	s.apart.log = p.log
	if err := s.apart.checkServe(); err != nil {
		return err
	}
	if _, err := s.apart.checkedConnector(s.apart.chosenID(false), false); err != nil {
		return err
	}
	return s.sayTokenEnd(p)
}

// notCarried are flags that an entry says in another way: the server stands
// behind --, its variables in the entry's own list, where other programs do not
// see them.
var notCarried = []string{"help", "help-all", "stdio", "server", "env"}

// forTheEdit are flags for the edit itself.
var forTheEdit = []string{"scope", "dry-run", "force", "json", "log-level", "log-format"}

// pathFlags name files. A client starts us in a directory of its own choice.
var pathFlags = []string{"audit", "config", "cwd", "policy", "tls-cert", "tls-key", "token-file"}

// carriedFlags gives cmd the flags of other commands, to pass on.
func carriedFlags(cmd *cobra.Command, of ...*cobra.Command) {
	for _, c := range of {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if cmd.Flags().Lookup(f.Name) != nil || slices.Contains(notCarried, f.Name) {
				return
			}
			if f.Name == "gate-host" { // --stdio goes without saying
				own := *f
				own.Usage = "the client's own tool calls wait for your rules and your yes too, as those of \"host\""
				f = &own
			}
			cmd.Flags().AddFlag(f)
		})
	}
}

// carried are the flags of a command that the command line sets, as arguments.
// They come as --name=value, so that none of them is a -- of its own.
func (p *program) carried(to *cobra.Command) ([]string, error) {
	var args []string
	for _, f := range p.given {
		if slices.Contains(forTheEdit, f.Name) {
			continue
		}
		if to.Flags().Lookup(f.Name) == nil && f.Name != "config" {
			hint := "with a server's command after -- the client starts run --stdio, and mcpx-bridge run --help lists its flags"
			if to.Name() == "run" {
				hint = "without a server's command the client starts serve, and mcpx-bridge serve --help lists its flags"
			}
			return nil, misused(hint, "%s, which the client will start, has no flag --%s", to.Name(), f.Name)
		}
		for _, v := range config.Values(f) {
			if slices.Contains(pathFlags, f.Name) && (f.Name != "audit" || v != "off") {
				var err error
				if v, err = setup.FileFromAnywhere(f.Name, v, f.Name == "audit"); err != nil {
					return nil, err
				}
			}
			args = append(args, "--"+f.Name+"="+v)
		}
	}
	p.warnOfShell(to)
	return args, nil
}

// variables are the ones that cmd takes settings from. For an entry of a client they are
// those of the edit alone: the client does not start us in this shell, so what we look at and
// say must not come from it either.
func (p *program) variables(cmd *cobra.Command) func(key string) string {
	if at := cmd.Parent(); at == nil || at.Name() != "client" {
		return p.getenv
	}
	return config.Only(p.getenv, forTheEdit...)
}

// warnOfShell names variables that mean something to us here, and that the
// client will not have.
func (p *program) warnOfShell(to *cobra.Command) {
	warn := func(key, hint string) {
		if p.getenv(key) != "" {
			p.log.Warn("the client does not have the " + key + " of this shell")
			p.log.Warn("hint: " + hint)
		}
	}
	to.Flags().VisitAll(func(f *pflag.Flag) {
		if !slices.Contains(notCarried, f.Name) && !p.gave(f.Name) {
			warn(config.Env(f.Name), "give --"+f.Name+" here")
		}
	})
	if !p.gave("config") {
		warn(config.Env("config"), "give --config here")
	}
	if !p.gave("token-file") && !p.gave("token-command") {
		warn("MCPX_AUTH_TOKEN", "keep the token in a file that only you can read, and give --token-file here")
	}
}

// warnOfState is for entries whose variables are not ours to write.
func (p *program) warnOfState() {
	if p.getenv("XDG_STATE_HOME") != "" {
		p.log.Warn("the client does not have the XDG_STATE_HOME of this shell, so the bridge will keep its state elsewhere")
		p.log.Warn("hint: put XDG_STATE_HOME=" + p.getenv("XDG_STATE_HOME") + " among the variables of the server's entry too")
	}
}

// sayUngated says who the server is for the others, and whose calls its rules are for: who
// gives --policy believes that it is for the client's own too (FINDINGS U5).
func (s starters) sayUngated(p *program, client, id string) error {
	at, err := p.clientPlace(client)
	if err != nil {
		return err
	}
	title := at.Client.Title
	if s.apart.s.ID == "" && s.apart.bearsToken() {
		id = "what its token says"
	}
	p.log.Info("in " + s.apart.s.Topic + " it is called " + id + "; questions about it come up in mcpx-bridge approve")
	if s.apart.s.GateHost {
		p.log.Info("the rules judge the tool calls of " + title + " itself too, as those of \"host\"; its other requests pass unasked")
		return nil
	}
	p.log.Info("the rules (flags and --policy) are for what others in the topic ask of the server; what " + title + " itself asks of it passes without a question")
	p.log.Info("hint: with --gate-host they judge the tool calls of " + title + " too")
	return nil
}

// ownID is the --id that an entry for serve gets where none is given, because no rule can
// name an id that is another one at each start. It is none where a token or the gateway may
// say who the client is, and in a file that others have too.
func (p *program) ownID(start starters, at install.Place) []string {
	s := &start.apart.s
	if s.ID != "" || s.Gateway != "" || s.TokenFile != "" || s.TokenCommand != "" || setup.OwnScope(at) != "" {
		return nil
	}
	person := setup.Person(p.getenv)
	if person == "" {
		p.log.Warn("you have no name here, so " + at.Client.Title + " gets another id at each start, which no rule can name")
		p.log.Warn("hint: --id gives it one")
		return nil
	}
	id := commandline.TidyID(person + "-" + at.Client.Name)
	p.log.Info("in the topic it is called " + id)
	p.log.Info("hint: --id chooses another name")
	return []string{"--id=" + id}
}

// ourEntry is what a client starts as mcpx: the topic, or a server in it.
func (p *program) ourEntry(start starters, exe string, server []string) (install.Entry, error) {
	e := install.Entry{Command: exe}
	if state := p.getenv("XDG_STATE_HOME"); state != "" {
		e.Env = []string{"XDG_STATE_HOME=" + state} // else it would look for the others of this machine elsewhere
	}
	if len(server) == 0 {
		flags, err := p.carried(start.serve)
		if err != nil {
			return e, err
		}
		e.Args = append([]string{"serve"}, flags...)
		return e, start.checkServe(p)
	}
	flags, err := p.carried(start.run)
	if err != nil {
		return e, err
	}
	if err := start.checkRun(p, node.Target{Args: server}); err != nil {
		return e, err
	}
	command, err := setup.FromAnywhere(server[0])
	if err != nil {
		return e, err
	}
	if _, err := exec.LookPath(command); err != nil {
		p.log.Warn(server[0] + " cannot be found here, and the client may not find it either")
		p.log.Warn("hint: name the program with its whole path: clients have a short PATH")
	}
	words := []string{command}
	for _, word := range server[1:] {
		abs := setup.FromHere(word)
		switch {
		case abs != word:
			p.log.Info(word + " is written as " + abs + ": the client starts the server in a directory of its own choice")
		case !filepath.IsAbs(word) && isDir(word):
			p.log.Warn(word + " is a directory here, and is written unchanged: the command may mean a plain word")
			p.log.Warn("hint: ./" + filepath.ToSlash(word) + " means the directory, which the client would not find")
		}
		words = append(words, abs)
	}
	e.Args = slices.Concat([]string{"run", "--stdio"}, flags, []string{"--"}, words)
	return e, nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// sayTokenEnd says until when a client can start what is being written into its file.
func (s starters) sayTokenEnd(p *program) error {
	if s.apart.s.TokenFile == "" {
		return nil
	}
	now, err := token.FromFile(s.apart.s.TokenFile)
	if err != nil {
		return err
	}
	if until, then := token.Ends(now, s.apart.s.TokenFile, s.apart.s.TokenCommand != "", time.Now()); until != "" {
		p.log.Info("the token is " + until)
		p.log.Info("hint: " + then)
	}
	return nil
}
