package grants

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/fault"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/socket"
)

// A Found is a yes that counts on this machine, and where it is remembered: by a bridge that
// runs, else in a book.
type Found struct {
	inbox.Grant
	at   *socket.Client // nil: in the book
	book Book
}

// Find are those of the bridges that run, and those in the books of the others in a directory.
// log hears of what an earlier version left there.
func Find(ctx context.Context, running []*socket.Client, dir string, log *slog.Logger) (all []Found, err error) {
	var ids []string
	for _, at := range running {
		ids = append(ids, at.Known.ID)
		kept, err := at.Grants(ctx)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", at.Known.ID, err)
		}
		for _, g := range kept {
			all = append(all, Found{Grant: g, at: at})
		}
	}
	books, err := All(dir, ids, log)
	if err != nil {
		return nil, err
	}
	for _, k := range books {
		kept, revoked, err := k.Look()
		if err != nil {
			return nil, err
		}
		for _, g := range kept {
			over := slices.ContainsFunc(revoked, func(r Revocation) bool { return r.Grant == g.ID })
			if g.Until.After(time.Now()) && !over {
				all = append(all, Found{Grant: inbox.GrantOf(k.ID(), g, false), book: k})
			}
		}
	}
	return all, nil
}

// Head is what stands above the cells of [Found.Row].
func Head() []string {
	return []string{"ID", "BRIDGE", "FROM", "TOOL", "ARGUMENTS", "KEPT", "DEFINITION", "AGREED", "UNTIL", "BY"}
}

// Row is what there is to see of it, in a line below [Head]; FROM is the caller, KEPT for how
// long, DEFINITION that of the tool as it was agreed to. It is not made safe to show.
func (f *Found) Row() []string {
	args := []rune(string(f.Args))
	if len(args) > 40 {
		args = append(args[:39], '…')
	}
	bridge := f.Bridge
	if !f.Running {
		bridge += " (stopped)"
	}
	return []string{f.ID, bridge, f.Caller, f.What(), string(args), f.Keep, f.Fingerprint[:min(len(f.Fingerprint), 8)],
		f.Made.Local().Format(time.DateTime), f.Until.Local().Format(time.DateTime), inbox.Names(f.By)}
}

// Named are those whose ids begin with what is named, one each, wherever that counts: bridges of
// one id, in several topics, remember the same. All are found before the caller takes back the first.
func Named(all []Found, prefixes []string) (chosen []Found, err error) {
	for _, prefix := range prefixes {
		different := map[[2]string]bool{}
		for _, g := range all {
			if strings.HasPrefix(g.ID, prefix) {
				chosen = append(chosen, g)
				different[[2]string{g.Bridge, g.ID}] = true
			}
		}
		if len(different) != 1 || prefix == "" {
			return nil, fault.New(fault.Failed, "mcpx-bridge grants list lists them", "%d remembered answers have an id that begins with %q", len(different), prefix)
		}
	}
	return chosen, nil
}

// Revoke takes it back, where it is, and reports whether it was still there.
func (f *Found) Revoke(ctx context.Context) (bool, error) {
	if f.at != nil {
		return f.at.Revoke(ctx, f.ID)
	}
	err := f.book.Revoke(f.ID)
	if errors.Is(err, ErrHeld) {
		return false, fault.New(fault.Failed, "try again: it is starting or ending, or its control socket does not answer", "the bridge %s cannot be reached, and has its grants in use", f.Bridge)
	}
	return err == nil, err
}
