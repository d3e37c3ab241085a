package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/audit"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/client"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/doctor"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/localgateway"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/node"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/plainlog"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/token"
)

// A patient is what doctor looks at. It runs checks and prints each finding as it comes. What run would do it tries
// with the very functions of run.
type patient struct {
	p     *program
	t     node.Target // what would be bridged
	trial *node.Trial // of a run; nil until the settings were found good
	way   *connector  // the way to the topic; nil until then
	made  bool        // our id is made up, and nobody needs what is kept under it
	used  bool        // another bridge goes by our id just now
	sick  bool
}

// report prints a finding and returns whether all was well.
func (d *patient) report(check, detail string, err error, warnings ...string) bool {
	f := doctor.FindingOf(check, detail, err, warnings...)
	if d.p.s.JSON {
		d.p.print(jsonLine(f))
	} else {
		d.p.print(f.Words())
	}
	d.sick = d.sick || !f.OK
	return f.OK
}

// place tries what a start does to be in the topic (node.New), in its order, and then joins it.
func (d *patient) place(ctx context.Context) {
	state := d.state()
	d.leftovers()
	there := state && d.gateway(ctx)
	if state {
		d.keeps()
	}
	if there {
		d.seat(ctx)
	}
}

func (d *patient) state() bool {
	local := d.way.Local
	if local == nil {
		return true
	}
	_, err := local.State.Secret()
	return d.report("state", string(local.State)+" is yours alone", err)
}

// leftovers tells of what the servers of bridges that were killed have left running.
func (d *patient) leftovers() {
	home, err := localgateway.Home(d.p.getenv)
	if err != nil {
		return
	}
	left := node.Leftovers(home)
	for _, id := range slices.Sorted(maps.Keys(left)) {
		d.report("leftovers", "a bridge "+id+" was killed, and what its server had started still runs", nil,
			fmt.Sprintf("the next start of %s ends it; to end it now: kill %s", id, strings.Trim(fmt.Sprint(left[id]), "[]")))
	}
}

// gateway finds one, or proves that one can be hosted, and settles who we are there.
func (d *patient) gateway(ctx context.Context) bool {
	way := d.way
	if way.Local == nil {
		if err := way.tokens.First(ctx); err != nil {
			return d.report("token", "", err)
		}
		until, then := token.Ends(way.tokens.Peek(), d.p.s.TokenFile, d.p.s.TokenCommand != "", time.Now())
		if then != "" {
			d.report("token", until, nil, then)
		} else if until != "" {
			d.report("token", until, nil)
		}
		return true // the seat will show whether it is there
	}
	at, err := way.Local.Find(ctx, 3*time.Second)
	detail := "this machine's gateway is at " + at
	if way.Hosts = errors.Is(err, localgateway.ErrNobody); way.Hosts {
		detail, err = d.rehearse()
	}
	if err == nil && !d.made {
		err = way.FreeID(ctx, at)
		d.used = !way.HoldsID()
	}
	return d.report("gateway", detail, err)
}

// rehearse hosts a gateway that nobody else is told of, having tried what it takes to
// host the one that others are.
func (d *patient) rehearse() (string, error) {
	local := d.way.Local
	local.GatewayLog = slog.New(plainlog.Hushed(d.p.log.Handler()))
	elsewhere, err := local.Rehearse()
	detail := "none is running; one can be hosted"
	if elsewhere {
		detail += " (not at " + localgateway.DefaultListen + ", which is taken)"
	}
	return detail, err
}

// keeps tries what is kept on this machine under our id.
func (d *patient) keeps() {
	id := d.way.Join.ID
	socket, err := d.trial.Socket(id)
	d.report("control", "you would answer questions through "+d.named(socket), err)
	kept, err := d.trial.Grants(id)
	if !d.made || err != nil {
		d.report("grants", text.Counted(kept, "answer")+" remembered for "+id, err)
	}
	path, doubt, err := d.trial.Audit(id)
	if _, wrong := d.p.recordOptions(); wrong != nil {
		path, err = "", wrong
	}
	d.used = d.used || errors.Is(err, audit.ErrLocked)
	detail := "off, no record is kept"
	if path != "" {
		detail = "the record can be kept in " + d.named(path)
	}
	var warnings []string
	if doubt != "" {
		warnings = append(warnings, "the audit log is not what it was: "+doubt+"; mcpx-bridge audit verify says more")
	}
	d.report("audit", detail, err, warnings...)
	if channels, err := d.trial.Channels(); len(channels) > 0 {
		d.report("notify", "people hear of questions by "+text.Series(channels, 0), err)
	}
	if home, err := localgateway.Home(d.p.getenv); err == nil && d.made {
		os.Remove(filepath.Join(home.File("control"), id+".lock"))
		os.Remove(filepath.Join(home.File("grants"), id+".lock"))
	}
}

// named is a file as a person is to know it: one with an id that is made up is none that
// there will be.
func (d *patient) named(file string) string {
	if d.made && d.p.s.Audit != file {
		return filepath.Dir(file)
	}
	return file
}

// seat joins the topic over the network, as callers do.
func (d *patient) seat(ctx context.Context) {
	if d.used {
		id := d.way.Join.ID
		d.report("seat", "not tried: another program here goes by the id "+id+", and would lose its seat for a moment", nil,
			"while both run, each puts the other out by turns; give this one another --id")
		return
	}
	d.way.OverNetwork = true
	q := d.p.newPeer(d.way, client.Options{})
	if err := q.Dial(ctx); err != nil {
		d.report("seat", "", err)
		return
	}
	defer q.Close()
	at, _ := d.way.Where()
	you, dialect := q.You(), q.Dialect()
	d.report("seat", fmt.Sprintf("welcome at %s as %s, speaking %s, with %d others", at, you.ID, dialect.Protocol, len(q.Others())), nil, d.trial.Doubts(you, dialect)...)
	for _, m := range engine.Muted(you, d.trial.Rules()) {
		d.report("may send", "", fail(exitFailed, "make a token of the role bridge: mcpx-bridge token --role bridge --topic "+d.p.s.Topic+" --id "+you.ID, "%s", m.Detail))
	}
	if said, doubts, err := d.trial.Approvers(q.Others(), dialect); said != "" || err != nil {
		d.report("approvers", said, err, doubts...)
	}
}
