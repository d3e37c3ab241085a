package setup

import (
	"errors"
	"slices"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/desktop/install"
)

// InOtherScope is an error about a server that is not where it was looked for, with the scope
// in which it is, if there is one.
func InOtherScope(err error, m install.Machine, at install.Place, exe, server string) error {
	return hintScope(err, func() (install.Scope, bool) {
		for _, f := range install.Survey(m, exe) {
			if f.Place.Client.Name == at.Client.Name && slices.ContainsFunc(f.Servers, func(s install.Server) bool { return s.Name == server }) {
				return f.Place.Scope, true
			}
		}
		return "", false
	})
}

// UndoneElsewhere is an error about nothing to undo, with the scope in which there is
// something, likewise.
func UndoneElsewhere(err error, m install.Machine, at install.Place, h install.History) error {
	return hintScope(err, func() (install.Scope, bool) {
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
func hintScope(err error, find func() (install.Scope, bool)) error {
	e, ok := errors.AsType[*install.Error](err)
	if !ok || !e.Absent {
		return err
	}
	scope, found := find()
	if !found {
		return err
	}
	there := *e
	there.Hint = "scope " + string(scope) + " has it: add --scope " + string(scope)
	return &there
}

// OwnScope is the scope that is for one person alone, where the file of a place is in other
// people's hands too; else "".
func OwnScope(at install.Place) install.Scope {
	switch {
	case at.Scope != install.Project:
		return ""
	case slices.Contains(at.Client.Scope, install.Local):
		return install.Local
	}
	return install.User
}

// Namesakes are the other scopes that have a server of that name, which the client may start
// instead.
func Namesakes(m install.Machine, at install.Place, exe, server string) (scopes []install.Scope) {
	for _, f := range install.Survey(m, exe) {
		bare := func(s install.Server) bool { return s.Name == server && !s.Wrapped }
		if f.Place.Client.Name == at.Client.Name && f.Place.Scope != at.Scope && slices.ContainsFunc(f.Servers, bare) {
			scopes = append(scopes, f.Place.Scope)
		}
	}
	return scopes
}
