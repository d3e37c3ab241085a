package main

import (
	"errors"
	"slices"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/desktop/install"
)

// inOtherScope says where a server is that is not where it was looked for, if no scope
// was named.
func (p *program) inOtherScope(err error, at install.Place, exe, server string) error {
	return p.hintScope(err, func(m install.Machine) (install.Scope, bool) {
		for _, f := range install.Survey(m, exe) {
			if f.Place.Client.Name == at.Client.Name && slices.ContainsFunc(f.Servers, func(s install.Server) bool { return s.Name == server }) {
				return f.Place.Scope, true
			}
		}
		return "", false
	})
}

// undoneElsewhere says in which scope there is something to undo, likewise.
func (p *program) undoneElsewhere(err error, at install.Place, h install.History) error {
	return p.hintScope(err, func(m install.Machine) (install.Scope, bool) {
		for _, scope := range at.Client.Scope {
			there, ok := at.Client.Place(m, scope)
			if !ok || scope == at.Scope {
				continue
			}
			_, err := h.Undo(there, false)
			if _, changed := errors.AsType[*install.ChangedError](err); err == nil || changed {
				return scope, true
			}
		}
		return "", false
	})
}

// hintScope puts a scope into the hint of an error about what is not in the usual one.
func (p *program) hintScope(err error, find func(install.Machine) (install.Scope, bool)) error {
	e, ok := errors.AsType[*install.Error](err)
	if !ok || p.s.Scope != "" || !e.Absent {
		return err
	}
	m, wrong := p.machine()
	if wrong != nil {
		return err
	}
	scope, found := find(m)
	if !found {
		return err
	}
	there := *e
	there.Hint = "scope " + string(scope) + " has it: add --scope " + string(scope)
	return &there
}

// warnOfSharing is for files that are in other people's hands too, where an entry names
// programs and files of this machine.
func (p *program) warnOfSharing(at install.Place) {
	if at.Scope != install.Project {
		return
	}
	other := install.User
	if slices.Contains(at.Client.Scope, install.Local) {
		other = install.Local
	}
	p.log.Info("who shares " + at.File + " gets the entry too, and it names files of this machine")
	p.log.Info("hint: --scope " + string(other) + " is for you alone")
}

// warnOfNamesakes names other servers of the name that the client may start instead.
func (p *program) warnOfNamesakes(at install.Place, exe, server string) {
	m, err := p.machine()
	if err != nil {
		return
	}
	for _, f := range install.Survey(m, exe) {
		bare := func(s install.Server) bool { return s.Name == server && !s.Wrapped }
		if f.Place.Client.Name == at.Client.Name && f.Place.Scope != at.Scope && slices.ContainsFunc(f.Servers, bare) {
			p.log.Warn("scope " + string(f.Place.Scope) + " has a server " + server + " too, and which of them it starts is for " + at.Client.Title + " to say")
			p.log.Warn("hint: put the bridge in front of that one as well: --scope " + string(f.Place.Scope))
		}
	}
}
