//go:build !unix

package prompt

import (
	"context"
	"errors"
	"os"
)

// Elsewhere questions are answered in lines.
type terminal struct{}

// IsTerminal reports whether f is one that a Prompt can use.
func IsTerminal(*os.File) bool { return false }

// Columns is how wide a terminal is, 0 if that cannot be told.
func Columns(*os.File) int { return 0 }

// InForeground reports whether no other job has the terminal f.
func InForeground(*os.File) bool { return true }

func openTerminal(*os.File) (*terminal, error) {
	return nil, errors.New("this terminal cannot be drawn on")
}

func (t *terminal) size() (columns, lines int)   { return 80, 24 }
func (t *terminal) ours() (ours, fresh bool)     { return false, false }
func (t *terminal) restore()                     {}
func (t *terminal) unmarkPastes()                {}
func (t *terminal) read(context.Context, *typed) {}
