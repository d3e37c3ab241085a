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
