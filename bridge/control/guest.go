package control

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	strict "github.com/go-json-experiment/json"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// Limits on what a guest may say, and on what one answer to list holds.
const (
	maxLine   = 1 << 20
	maxResult = 512 << 10 // of a decision
	pageBytes = 1 << 20
)

var lineRules = jsonrpc.Rules{Depth: jsonrpc.MaxDepth, Size: maxLine, Values: 1 << 16, EveryLevel: true}

// Codes of errors.
const (
	codeMethod  = -32601
	codeParams  = -32602
	codeRefused = -31100 // with a Refusal as data
	codeFailed  = -31101
)

// A guest is one connection.
type guest struct {
	d       *Door
	c       net.Conn
	decides bool // may answer questions

	events   <-chan Event // nil unless it watches
	cancel   func()
	relaying bool
	watcher  sync.WaitGroup

	mu sync.Mutex // held to write
}

func newGuest(d *Door, c net.Conn, decides bool) *guest {
	return &guest{d: d, c: c, decides: decides}
}

// serve answers one line after the other, until the guest leaves or says
// something that is no request at all.
func (g *guest) serve() {
	defer g.unwatch()
	lines := bufio.NewScanner(g.c)
	lines.Buffer(make([]byte, 0, 4<<10), maxLine)
	for lines.Scan() {
		if !g.answer(lines.Bytes()) {
			return
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		g.write(jsonrpc.AppendError(nil, []byte("null"), -32600, fmt.Sprintf("a line may have %d bytes", maxLine), nil))
	}
}

// answer reports whether to go on.
func (g *guest) answer(line []byte) bool {
	m, err := jsonrpc.Parse(line, lineRules)
	if err != nil {
		code := -32600
		if e, ok := errors.AsType[*jsonrpc.Error](err); ok {
			code = e.Code()
		}
		g.write(jsonrpc.AppendError(nil, []byte("null"), code, err.Error(), nil))
		return false
	}
	id := m.Get(jsonrpc.ID)
	if m.Class() != jsonrpc.Request || m.Text(jsonrpc.Version) != "2.0" {
		g.write(jsonrpc.AppendError(nil, orNull(id), -32600, "only JSON-RPC 2.0 requests with an id are answered here", nil))
		return false
	}
	result, err := g.handle(m.Text(jsonrpc.Method), m.Get(jsonrpc.Params))
	if err != nil {
		return g.write(appendFailure(id, err))
	}
	text, err := json.Marshal(result)
	if err != nil {
		return g.write(appendFailure(id, err))
	}
	return g.write(jsonrpc.AppendResult(nil, id, text)) && g.relay()
}

func orNull(id []byte) []byte {
	if id == nil {
		return []byte("null")
	}
	return id
}

// badParams is an error in what a guest asked.
type badParams struct{ error }

// noMethod is a method that there is none of.
type noMethod string

func (n noMethod) Error() string {
	return "there is no method " + string(jsonrpc.AppendQuote(nil, string(n)))
}

func appendFailure(id []byte, err error) []byte {
	code, data := codeFailed, []byte(nil)
	if r, ok := errors.AsType[*Refusal](err); ok {
		code = codeRefused
		data, _ = json.Marshal(r) // strings always marshal
	}
	if _, ok := errors.AsType[badParams](err); ok {
		code = codeParams
	}
	if _, ok := errors.AsType[noMethod](err); ok {
		code = codeMethod
	}
	return jsonrpc.AppendError(nil, id, code, err.Error(), data)
}

// params reads the parameters of a request: members that are not listed, are
// spelled in another case or come twice are refused.
func params[T any](raw []byte) (p T, err error) {
	if raw == nil {
		return p, nil
	}
	if err := strict.Unmarshal(raw, &p, strict.RejectUnknownMembers(true)); err != nil {
		return p, badParams{err}
	}
	return p, nil
}

type (
	listParams struct {
		After string    `json:"after"` // the id of the last one known
		Asked time.Time `json:"asked"` // and when that was asked
		Brief bool      `json:"brief"` // without arguments
	}
	showParams struct {
		ID string `json:"id"`
	}
	decideParams struct {
		ID     string          `json:"id"`
		Digest string          `json:"digest"`
		Result json.RawMessage `json:"result"`
	}
	listResult struct {
		Questions []Question `json:"questions"`
		More      bool       `json:"more"`
	}
	showResult struct {
		Question approval.View `json:"question"`
	}
	grantsResult struct {
		Grants []Grant `json:"grants"`
	}
	revokeResult struct {
		Revoked bool `json:"revoked"`
	}
	nothing struct{}
)

// handle does what a guest asks for. Nothing but decide and grants/revoke
// changes anything.
func (g *guest) handle(method string, raw []byte) (any, error) {
	switch method {
	case "status":
		_, err := params[nothing](raw)
		return g.d.o.Bridge.Status(), err
	case "list":
		return g.list(raw)
	case "show":
		return g.show(raw)
	case "decide":
		return g.decide(raw)
	case "watch":
		if _, err := params[nothing](raw); err != nil {
			return nil, err
		}
		return nothing{}, g.subscribe()
	case "grants/list":
		return g.grants(raw)
	case "grants/revoke":
		p, err := params[showParams](raw)
		if err != nil || p.ID == "" {
			return nil, badParams{errors.Join(err, missing(p.ID, "id"))}
		}
		revoked, err := g.d.o.Bridge.Revoke(p.ID)
		return revokeResult{revoked}, err
	}
	return nil, noMethod(method)
}

func missing(value, name string) error {
	if value == "" {
		return fmt.Errorf("%s is missing", name)
	}
	return nil
}

// list answers with as much as fits one page.
func (g *guest) list(raw []byte) (any, error) {
	p, err := params[listParams](raw)
	if err != nil {
		return nil, err
	}
	all := g.d.o.Bridge.Questions()
	out, size := listResult{Questions: []Question{}}, 0
	for _, s := range all[p.start(all):] {
		if size >= pageBytes {
			out.More = true
			break
		}
		q := questionOf(s, p.Brief)
		out.Questions = append(out.Questions, q)
		size += len(q.Args) + 256
	}
	return out, nil
}

// start is where the next page begins: behind the last one known or, if that
// is not pending any more, with those asked later.
func (p *listParams) start(all []approval.Summary) int {
	if p.After == "" {
		return 0
	}
	if i := slices.IndexFunc(all, func(s approval.Summary) bool { return s.ID == p.After }); i >= 0 {
		return i + 1
	}
	i := slices.IndexFunc(all, func(s approval.Summary) bool { return s.Asked.After(p.Asked) })
	if i < 0 {
		return len(all)
	}
	return i
}

func (g *guest) show(raw []byte) (any, error) {
	p, err := params[showParams](raw)
	if err != nil || p.ID == "" {
		return nil, badParams{errors.Join(err, missing(p.ID, "id"))}
	}
	v, ok := g.d.o.Bridge.Question(p.ID)
	if !ok {
		return nil, &Refusal{Reason: Unknown}
	}
	return showResult{v}, nil
}

func (g *guest) decide(raw []byte) (any, error) {
	p, err := params[decideParams](raw)
	if err == nil && len(p.Result) > maxResult {
		err = fmt.Errorf("the result may have %d bytes", maxResult)
	}
	if err = errors.Join(err, missing(p.ID, "id"), missing(p.Digest, "digest"), missing(string(p.Result), "result")); err != nil {
		return nil, badParams{err}
	}
	if !g.decides {
		return nil, &Refusal{Reason: AnswersElsewhere}
	}
	return g.d.o.Bridge.Decide(approval.Answer{Who: approval.Who{Door: approval.Local}, Question: p.ID, Digest: p.Digest, Result: p.Result})
}

func (g *guest) grants(raw []byte) (any, error) {
	if _, err := params[nothing](raw); err != nil {
		return nil, err
	}
	out := grantsResult{Grants: []Grant{}}
	for _, one := range g.d.o.Bridge.Grants() {
		out.Grants = append(out.Grants, GrantOf(one))
	}
	return out, nil
}

// write sends one line, and reports whether it got out in time.
func (g *guest) write(line []byte) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.c.SetWriteDeadline(time.Now().Add(g.d.o.Patience))
	_, err := g.c.Write(append(line, '\n'))
	if err != nil {
		g.c.Close()
	}
	return err == nil
}

// subscribe comes before the answer to watch, so that no event falls between
// the two; relay after it.
func (g *guest) subscribe() error {
	if g.events != nil {
		return badParams{errors.New("this connection watches already")}
	}
	g.events, g.cancel = g.d.o.Bridge.Watch()
	return nil
}

// relay begins to pass events on, if there are any and it has not yet.
func (g *guest) relay() bool {
	if g.events != nil && !g.relaying {
		g.relaying = true
		g.watcher.Go(g.passOn)
	}
	return true
}

func (g *guest) passOn() {
	defer g.c.Close() // it was too slow, or the bridge is done
	for e := range g.events {
		text, _ := json.Marshal(e) // strings always marshal
		if !g.write(jsonrpc.AppendNotification(nil, "event", text)) {
			return
		}
	}
}

func (g *guest) unwatch() {
	if g.cancel != nil {
		g.cancel()
	}
	g.watcher.Wait()
}
