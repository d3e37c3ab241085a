package main

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/grants"
	"github.com/mcpx-protocol/mcpx-bridge/stdio"
)

// What of the yeses of a run is to outlast it.

// grantBook is where yeses that are to last are kept, as a list that people can read
// (DESIGN 7).
func (b *bridging) grantBook() (grants.Book, error) {
	home, err := stateHome(b.p.getenv)
	if err != nil {
		return grants.Book{}, err
	}
	return grants.In(home.File("grants"), b.id), nil
}

// takeGrants gives the Engine what an earlier run was told to keep, and what such a yes
// is bound to here.
func (b *bridging) takeGrants() (err error) {
	c := &b.opt.Engine
	if c.Command, err = b.startedAs(); err != nil {
		return err
	}
	if b.kept.Book, err = b.grantBook(); err != nil {
		return err
	}
	if b.holding, c.Desk.Grants, b.unrecorded, err = b.kept.Open(); err == nil {
		b.kept.TellEarlier(b.p.log)
	}
	return err
}

// recordRevoked puts into the record what was taken back before this run.
func (b *bridging) recordRevoked() error {
	if err := b.kept.RecordRevoked(b.audit, b.unrecorded); err != nil {
		return fail(exitAudit, "", "what was revoked while the bridge was stopped could not be put on record: %w", err)
	}
	return nil
}

// startedAs is a word for the server's command to the letter, with what --env makes of
// its environment; --env-clean: for all of that. The command that people are shown
// is without its secrets, and so the same for another account, or another database.
// Whoever reads the word learns none of them: it is keyed. What the server inherits
// unnamed is not in it, for that is not the same twice. It is "" for descriptors that
// we inherited: who is at their other end, they do not say, so nothing can last.
func (b *bridging) startedAs() (string, error) {
	if b.target.attached() && b.target.at.Network == "fd" {
		return "", nil
	}
	home, err := stateHome(b.p.getenv)
	if err != nil {
		return "", err
	}
	if err := home.Open(); err != nil {
		return "", err
	}
	secret, err := home.Secret()
	if err != nil {
		return "", fmt.Errorf("what answers that are to last are bound to cannot be told: %w", err)
	}
	env := b.p.s.Env
	if b.p.s.EnvClean {
		env = slices.Sorted(slices.Values(b.launch.Env))
		env = slices.DeleteFunc(env, func(kv string) bool { return envKey(kv) == stdio.MarkVar }) // another one each time
	}
	word := hmac.New(sha256.New, secret)
	word.Write([]byte("mcpx-bridge command 1\n"))
	for _, list := range [][]string{b.target.argv, {b.target.at.String()}, {strconv.FormatBool(b.p.s.EnvClean)}, env} {
		fmt.Fprintf(word, "%d\n", len(list))
		for _, s := range list {
			fmt.Fprintf(word, "%d %s\n", len(s), s)
		}
	}
	return hex.EncodeToString(word.Sum(nil)[:16]), nil
}

// keepGrants writes down the yeses that are to last, those too that came just
// before the end.
func (b *bridging) keepGrants(ctx context.Context) error {
	if b.holding != nil {
		defer b.holding.Close() // from now on the file may be changed from outside
	}
	for {
		select {
		case <-ctx.Done():
			for range len(b.attendance.lasting) {
				b.keepGrant(<-b.attendance.lasting)
			}
			return nil
		case g := <-b.attendance.lasting:
			b.keepGrant(g)
		}
	}
}

func (b *bridging) keepGrant(g approval.Grant) {
	if err := b.kept.Add(g); err != nil {
		b.p.log.Error("a grant is forgotten when this bridge ends: it could not be written down", "grant", g.ID, "error", err)
	}
}

// remember is called under the sidecar's lock, so it leaves the work to
// keepGrants.
func (l *attendance) remember(g approval.Grant) {
	if g.Keep != "always" {
		return
	}
	select {
	case l.lasting <- g:
	default:
		l.b.p.log.Error("a grant is forgotten when this bridge ends: too many at once", "grant", g.ID)
	}
}
