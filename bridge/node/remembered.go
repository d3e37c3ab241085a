package node

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strconv"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/audit"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/fault"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/grants"
	"github.com/mcpx-protocol/mcpx-bridge/stdio"
)

// A remembered is what of the yeses of a bridge is to outlast it. Its file is held from
// its opening to the end of run.
type remembered struct {
	grants.Keeper
	held    io.Closer
	revoked []grants.Revocation // while the bridge was stopped
	lasting chan approval.Grant // for run, which may wait for the disk
}

// openRemembered gives the Engine what an earlier run was told to keep, and what such a yes
// is bound to here.
func (p *plan) openRemembered(id string) (r *remembered, err error) {
	if p.engine.Command, err = p.startedAs(); err != nil {
		return nil, err
	}
	r = &remembered{Keeper: grants.Keeper{Book: grants.In(p.o.State.File("grants"), id)}, lasting: make(chan approval.Grant, 64)}
	if r.held, p.engine.Desk.Grants, r.revoked, err = r.Open(); err != nil {
		return nil, err
	}
	r.TellEarlier(p.o.Log)
	return r, nil
}

// record puts into the record what was taken back before this run.
func (r *remembered) record(log *audit.Log) error {
	if err := r.RecordRevoked(log, r.revoked); err != nil {
		return fault.New(fault.Audit, "", "grants were revoked while the bridge was stopped, and this could not be put on record: %w", err)
	}
	return nil
}

// startedAs is a word for the server's command to the letter, with what --env makes of
// its environment; --env-clean: for all of that. The command that people are shown
// is without its secrets, and so the same for another account, or another database.
// Whoever reads the word learns none of them: it is keyed. What the server inherits
// unnamed is not in it, for that is not the same twice. It is "" for descriptors that
// we inherited: who is at their other end, they do not say, so nothing can last.
func (p *plan) startedAs() (string, error) {
	if p.o.Server.Attached() && p.o.Server.At.Network == "fd" {
		return "", nil
	}
	if err := p.o.State.Open(); err != nil {
		return "", err
	}
	secret, err := p.o.State.Secret()
	if err != nil {
		return "", fmt.Errorf("the bridge cannot tell which program and directory its grants belong to: %w", err)
	}
	env := p.o.Env.Set
	if p.o.Env.Clean {
		env = slices.Sorted(slices.Values(p.launch.Env))
		env = slices.DeleteFunc(env, func(kv string) bool { return envKey(kv) == stdio.MarkVar }) // another one each time
	}
	word := hmac.New(sha256.New, secret)
	word.Write([]byte("mcpx-bridge command 1\n"))
	for _, list := range [][]string{p.o.Server.Args, {p.o.Server.At.String()}, {strconv.FormatBool(p.o.Env.Clean)}, env} {
		fmt.Fprintf(word, "%d\n", len(list))
		for _, s := range list {
			fmt.Fprintf(word, "%d %s\n", len(s), s)
		}
	}
	return hex.EncodeToString(word.Sum(nil)[:16]), nil
}

// run writes down the yeses that are to last, those too that came just before the end.
func (r *remembered) run(ctx context.Context, log *slog.Logger) {
	defer r.held.Close() // from now on the file may be changed from outside
	for {
		select {
		case <-ctx.Done():
			for range len(r.lasting) {
				r.keep(<-r.lasting, log)
			}
			return
		case g := <-r.lasting:
			r.keep(g, log)
		}
	}
}

func (r *remembered) keep(g approval.Grant, log *slog.Logger) {
	if err := r.Add(g); err != nil {
		log.Error("a grant is forgotten when this bridge ends: it could not be written down", "grant", g.ID, "error", err)
	}
}

// remember is called under the sidecar's lock, so it leaves the work to run. It reports
// whether there was room for that.
func (r *remembered) remember(g approval.Grant) bool {
	if g.Keep != "always" {
		return true
	}
	select {
	case r.lasting <- g:
		return true
	default:
		return false
	}
}
