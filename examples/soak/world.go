//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/examples/stage"
	client "github.com/mcpx-protocol/mcpx-bridge/examples/stage/seat"
)

const (
	topic   = "soak"
	callers = 12
)

// rules are the policy; sometimes is allow or deny.
const rules = `version: 1
default: deny
asks: {alice: {of: [alice], within: 6s}}
rules:
  - {name: reads, allow: [run]}
  - {name: writes, ask: ["yes", "no"], as: alice}
  - {name: never, deny: [never]}
  - {name: sometimes, %s: [sometimes]}
`

// A world is everything that takes part, and what is known of it.
type world struct {
	stage *stage.Stage
	plan  plan
	out   io.Writer
	dice  *rand.Rand // for faults
	began time.Time

	disk      disk
	policy    string // its file
	sometimes string // what the policy says of that tool: allow or deny
	log       string // the audit log's file
	ledger    string

	gateway, bridge *stage.Process
	url             string // of the gateway
	link            *link
	book            *book
	seats           []*seat // the callers'
	guests          sync.WaitGroup
	leave           context.CancelFunc // ends guests

	calling sync.RWMutex // held for writing while nobody may call

	faults        map[string]int
	wrong         []string
	samples       []sample // while bridge and gateway live to the end
	before, after sample   // with nobody calling
	cut           int      // readers that the gateway cut off meanwhile
	minutes       int      // that were reported
}

func newWorld(s *stage.Stage, p plan, out io.Writer) (*world, error) {
	w := &world{stage: s, plan: p, out: out, dice: rand.New(rand.NewPCG(p.seed, 1)), book: newBook(), faults: map[string]int{},
		policy: filepath.Join(s.Dir, "rules.yaml"), ledger: filepath.Join(s.Dir, "ledger"), leave: func() {}}
	err := os.Setenv("GODEBUG", traced)
	if err != nil {
		return nil, err
	}
	if w.disk, err = mountDisk(filepath.Join(s.Dir, "disk")); err != nil {
		return nil, err
	}
	if !w.disk.full {
		fmt.Fprintln(out, "no disk can be mounted here (it takes user namespaces), so none will be full")
	}
	w.log = filepath.Join(w.disk.dir, bridgeID+".jsonl")
	return w, w.ruled("allow")
}

// close takes away what the stage does not know of.
func (w *world) close() {
	w.dismiss()
	if w.link != nil {
		w.link.close()
	}
	w.disk.unmount()
}

// dismiss sends everybody home but bridge and gateway.
func (w *world) dismiss() {
	w.leave()
	w.guests.Wait()
}

// ruled puts a policy into its file, as an editor does.
func (w *world) ruled(sometimes string) error {
	w.sometimes = sometimes
	return w.write(fmt.Sprintf(rules, sometimes))
}

func (w *world) write(policy string) error {
	draft := w.policy + ".new"
	return errors.Join(os.WriteFile(draft, []byte(policy), 0o600), os.Rename(draft, w.policy))
}

// open starts everything.
func (w *world) open(ctx context.Context) error {
	if err := w.startGateway("127.0.0.1:0"); err != nil {
		return err
	}
	var err error
	if w.link, err = newLink(w.address()); err != nil {
		return err
	}
	if err := w.startBridge(); err != nil {
		return err
	}
	ctx, w.leave = context.WithCancel(ctx)
	alice, err := w.sit(ctx, "alice", w.decide)
	if err != nil {
		return err
	}
	for i := range callers {
		id := fmt.Sprintf("bob%d", i)
		s, err := w.sit(ctx, id, func(s *seat, frame []byte) { w.book.hear(s.id, frame) })
		if err != nil {
			return err
		}
		w.seats = append(w.seats, s)
	}
	for _, s := range append([]*seat{alice}, w.seats...) {
		select {
		case <-s.here:
		case <-time.After(patience):
			return fmt.Errorf("%s is not welcomed", s.id)
		}
	}
	for i, s := range w.seats {
		w.guests.Go(func() { w.calls(ctx, s, rand.New(rand.NewPCG(w.plan.seed, uint64(i)+2))) })
	}
	w.guests.Go(func() { w.giveUps(ctx) })
	w.began = time.Now()
	return nil
}

func (w *world) startGateway(listen string) (err error) {
	var r stage.Ready
	if w.gateway, r, err = w.start("gateway", "--json", "--listen", listen); err != nil {
		return err
	}
	w.url = r.URL
	return nil
}

// address is where the gateway listens.
func (w *world) address() string { return w.url[len("ws://"):] }

// startAgain starts gateway and bridge where they were.
func (w *world) startAgain() error {
	return errors.Join(w.startGateway(w.address()), w.startBridge())
}

func (w *world) startBridge() error {
	token, err := w.stage.Token(topic, bridgeID)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	w.bridge, _, err = w.start("run", "--json", "--log-level", "error", "--gateway", "ws://"+w.link.at.Addr().String(), "--token-file", token,
		"--topic", topic, "--id", bridgeID, "--policy", w.policy, "--audit", w.log, "--env", ledgerVar+"="+w.ledger, "--env", logVar+"="+w.log, "--env", "GODEBUG=", "--", self)
	return err
}

// start starts a command of ours, waits until it is ready, and drops what else
// it prints.
func (w *world) start(args ...string) (p *stage.Process, r stage.Ready, err error) {
	if p, err = w.stage.Start(stage.Bridge, args...); err != nil {
		return nil, r, err
	}
	line, err := p.Line()
	if err != nil {
		return nil, r, err
	}
	p.Ignore()
	return p, r, json.Unmarshal([]byte(line), &r)
}

// sit has somebody in the topic until ctx ends.
func (w *world) sit(ctx context.Context, id string, hear func(*seat, []byte)) (*seat, error) {
	s, err := w.chair(id, hear)
	if err == nil {
		w.guests.Go(func() { s.run(ctx) })
	}
	return s, err
}

// chair is a seat whose run is still to be called.
func (w *world) chair(id string, hear func(*seat, []byte)) (*seat, error) {
	token, err := w.stage.Token(topic, id)
	return take(id, w.url+"/ws?topic="+topic, token, hear), err
}

// decide is alice: she does what the name of the tool says.
func (w *world) decide(alice *seat, frame []byte) {
	var q struct {
		ID      string
		Payload struct {
			ID     json.RawMessage
			Method string
			Params struct {
				Metadata struct{ OriginalRequest struct{ Tool string } }
			}
		}
	}
	if json.Unmarshal(frame, &q) != nil || q.Payload.Method != "elicitation/create" {
		return
	}
	result := `{"action":"accept","content":{"approve":true}}`
	if q.Payload.Params.Metadata.OriginalRequest.Tool == "no" {
		result = `{"action":"decline"}`
	}
	_ = alice.send(client.Answer("answer-"+q.ID, "alice", bridgeID, q.Payload.Method, q.ID, string(q.Payload.ID), result))
}

// calls makes calls from one seat until ctx ends, at uneven intervals. A caller
// may not put more than ten questions a minute.
func (w *world) calls(ctx context.Context, s *seat, dice *rand.Rand) {
	every := time.Second * callers / time.Duration(w.plan.rate)
	var asked time.Time
	for n := 0; pause(ctx, time.Duration(dice.Int64N(int64(2*every)))) == nil; n++ {
		f := drawn(dice)
		if f.asked {
			if time.Since(asked) < 7*time.Second {
				f = &fates[0]
			} else {
				asked = time.Now()
			}
		}
		w.calling.RLock()
		if ctx.Err() == nil {
			w.call(s, f, n, dice.IntN(400), dice.IntN(50) == 0)
		}
		w.calling.RUnlock()
	}
}

// call makes one call; twice brings it twice, as a gateway may.
func (w *world) call(s *seat, f *fate, n, size int, twice bool) {
	c := &call{key: fmt.Sprintf("%s-%s-%d", f.tool, s.id, n), from: s.id, fate: f, sent: time.Now(), again: twice}
	arguments := fmt.Appendf(nil, `{"key":%q,"text":"%0*d"}`, c.key, size, n)
	c.sum = sumOf(arguments)
	c.frame = client.Frame(c.key, s.id, bridgeID, "mcp/request:tools/call:"+f.tool, "",
		fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, n, f.tool, arguments))
	frame := c.frame
	w.book.made(c)
	_ = s.send(frame) // one that was not sent has no answer either
	if twice {
		_ = s.send(frame)
	}
}

// giveUps lets callers lose their patience, and half of them call once more.
func (w *world) giveUps(ctx context.Context) {
	for pause(ctx, time.Second) == nil {
		again, frames := w.book.giveUp(time.Now())
		for i, c := range again {
			for _, s := range w.seats {
				if s.id == c.from {
					_ = s.send(frames[i])
				}
			}
		}
	}
}

// quiet lets nobody call until the function that it returns is called, and
// waits until what was called has its answer.
func (w *world) quiet(ctx context.Context) (goOn func(), err error) {
	w.calling.Lock()
	if err := w.book.settles(ctx); err != nil {
		w.calling.Unlock()
		return nil, err
	}
	return w.calling.Unlock, nil
}

// A plan says how long and how hard.
type plan struct {
	takes, every time.Duration
	rate         int // calls per second
	seed         uint64
	only         string // kind of fault; "" is all
}

// warm is how long there is load before anything is broken or compared.
func (p plan) warm() time.Duration { return min(15*time.Second, p.takes/12) }

// struck is how many faults there were.
func (w *world) struck() (n int) {
	for _, times := range w.faults {
		n += times
	}
	return n
}

func (w *world) complain(format string, a ...any) {
	w.wrong = append(w.wrong, fmt.Sprintf(format, a...))
}
