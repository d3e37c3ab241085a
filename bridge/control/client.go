package control

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"net"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// answerTime is how long a bridge may take to answer.
const answerTime = 10 * time.Second

// maxAnswer bounds a line from a bridge: the whole of a question with 16 MiB
// of arguments, each of whose characters may be shown as several.
const maxAnswer = 256 << 20

// A Client speaks to one bridge through its door. Its methods may be called
// from many goroutines; they wait for each other. A connection that was lost
// is made again once.
type Client struct {
	Path   string
	Status Status // as of Dial

	own func() (net.Conn, error) // how to get in without the socket; nil: by the socket

	mu   sync.Mutex
	conn *link // nil: none
}

// A link is one connection.
type link struct {
	c     net.Conn
	lines *bufio.Scanner
	last  int // id of the last request
}

// Dial enters by the door whose socket is at path, and asks who is there.
func Dial(ctx context.Context, path string) (*Client, error) {
	return enter(ctx, &Client{Path: path})
}

func enter(ctx context.Context, c *Client) (*Client, error) {
	if err := c.call(ctx, "status", nil, &c.Status); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// All enters by every door in dir behind which somebody lives, in the order of
// their names. What dead processes left there is passed over.
func All(ctx context.Context, dir string) ([]*Client, error) {
	paths, err := Doors(dir)
	if err != nil {
		return nil, err
	}
	var all []*Client
	var failed []error
	for _, path := range paths {
		c, err := Dial(ctx, path)
		switch {
		case err == nil:
			all = append(all, c)
		case !gone(err):
			failed = append(failed, fmt.Errorf("%s: %w", path, err))
		}
	}
	return all, errors.Join(failed...)
}

// gone: nobody lives behind the door any more.
func gone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, errHungUp)
}

var errHungUp = errors.New("the bridge hung up")

// Close hangs up.
func (c *Client) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hangUp()
}

func (c *Client) hangUp() {
	if c.conn != nil {
		c.conn.c.Close()
		c.conn = nil
	}
}

// Refresh asks for the status as it is now.
func (c *Client) Refresh(ctx context.Context) (s Status, err error) {
	err = c.call(ctx, "status", nil, &s)
	return s, err
}

// List lists the questions, oldest first; brief ones have no arguments.
func (c *Client) List(ctx context.Context, brief bool) (all []Question, err error) {
	p := listParams{Brief: brief}
	for {
		var page listResult
		if err := c.call(ctx, "list", p, &page); err != nil {
			return nil, err
		}
		all = append(all, page.Questions...)
		if !page.More || len(page.Questions) == 0 {
			return all, nil
		}
		last := &all[len(all)-1]
		p.After, p.Asked = last.ID, last.Asked
	}
}

// Show shows the whole of a question, by any unique prefix of its id. The
// error is a [*Refusal] if there is none.
func (c *Client) Show(ctx context.Context, id string) (approval.View, error) {
	var r showResult
	err := c.call(ctx, "show", showParams{id}, &r)
	return r.Question, err
}

// Decide answers a question with the result of an elicitation. digest is what
// was shown with it. The error is a [*Refusal] if the answer does not count.
func (c *Client) Decide(ctx context.Context, id, digest string, result []byte) (o Outcome, err error) {
	err = c.call(ctx, "decide", decideParams{id, digest, result}, &o)
	return o, err
}

// Grants lists what is remembered.
func (c *Client) Grants(ctx context.Context) ([]Grant, error) {
	var r grantsResult
	err := c.call(ctx, "grants/list", nil, &r)
	return r.Grants, err
}

// Revoke takes a grant back and reports whether there was one of that id.
func (c *Client) Revoke(ctx context.Context, id string) (bool, error) {
	var r revokeResult
	err := c.call(ctx, "grants/revoke", showParams{id}, &r)
	return r.Revoked, err
}

// Watch yields what happens from now on, over a connection of its own. The
// first Event is empty and says that watching has begun. It ends with an error
// when the bridge goes away or finds us too slow, and without one when ctx
// ends.
func (c *Client) Watch(ctx context.Context) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		l, err := c.connect(ctx)
		if err != nil {
			yield(Event{}, err)
			return
		}
		defer l.c.Close()
		defer context.AfterFunc(ctx, func() { l.c.Close() })()
		err = l.call("watch", nil, nil)
		for e := (Event{}); err == nil; e, err = l.event() {
			if !yield(e, nil) {
				return
			}
		}
		if ctx.Err() == nil {
			yield(Event{}, err)
		}
	}
}

func (c *Client) connect(ctx context.Context) (*link, error) {
	conn, err := c.knock(ctx)
	if err != nil {
		return nil, err
	}
	l := &link{c: conn, lines: bufio.NewScanner(conn)}
	l.lines.Buffer(make([]byte, 0, 4<<10), maxAnswer)
	return l, nil
}

func (c *Client) knock(ctx context.Context) (net.Conn, error) {
	if c.own != nil {
		return c.own()
	}
	return dial(ctx, c.Path)
}

func dial(ctx context.Context, path string) (net.Conn, error) {
	at, done, err := reach(path)
	if err != nil {
		return nil, err
	}
	defer done()
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", at)
	if err != nil {
		return nil, err
	}
	if err := sameUser(conn); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// call asks over the connection there is, or a new one. It asks anew only when
// an old connection turns out to be dead before anything was answered, and
// only what changes nothing.
func (c *Client) call(ctx context.Context, method string, params, result any) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	old := c.conn != nil
	for {
		if c.conn == nil {
			var err error
			if c.conn, err = c.connect(ctx); err != nil {
				return err
			}
		}
		err := c.over(ctx, method, params, result)
		if !errors.Is(err, errHungUp) || !old || method == "decide" || method == "grants/revoke" {
			return err
		}
		old = false
	}
}

func (c *Client) over(ctx context.Context, method string, params, result any) error {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	l := c.conn
	stop := context.AfterFunc(ctx, func() { l.c.Close() })
	defer stop()
	err := l.call(method, params, result)
	if err != nil && !answered(err) {
		c.hangUp()
	}
	if ctx.Err() != nil && errors.Is(err, errHungUp) {
		return fmt.Errorf("the bridge does not answer: %w", context.Cause(ctx))
	}
	return err
}

// answered: the error is the bridge's answer.
func answered(err error) bool {
	_, refused := errors.AsType[*Refusal](err)
	_, failed := errors.AsType[fault](err)
	return refused || failed
}

// A fault is an answer that is an error.
type fault struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (f fault) Error() string { return f.Message }

// call asks, and reads the answer.
func (l *link) call(method string, params, result any) error {
	l.last++
	id := strconv.AppendInt(nil, int64(l.last), 10)
	var raw []byte
	if params != nil {
		var err error
		if raw, err = json.Marshal(params); err != nil {
			return err
		}
	}
	if _, err := l.c.Write(append(jsonrpc.AppendRequest(nil, id, method, raw), '\n')); err != nil {
		return errHungUp
	}
	var answer struct {
		ID     json.RawMessage `json:"id"`
		Result json.RawMessage `json:"result"`
		Error  *struct {
			fault
			Data Refusal `json:"data"`
		} `json:"error"`
	}
	if err := l.read(&answer); err != nil {
		return err
	}
	switch e := answer.Error; {
	case e != nil && e.Code == codeRefused:
		return &e.Data
	case e != nil:
		return e.fault
	case !bytes.Equal(answer.ID, id):
		return errors.New("the bridge answers something else than was asked")
	case result == nil:
		return nil
	}
	return json.Unmarshal(answer.Result, result)
}

func (l *link) event() (e Event, err error) {
	var note struct {
		Method string `json:"method"`
		Params Event  `json:"params"`
	}
	for note.Method != "event" {
		if err := l.read(&note); err != nil {
			return Event{}, err
		}
	}
	return note.Params, nil
}

func (l *link) read(into any) error {
	if !l.lines.Scan() {
		if err := l.lines.Err(); errors.Is(err, bufio.ErrTooLong) {
			return errors.New("the bridge's answer is too long")
		}
		return errHungUp
	}
	return json.Unmarshal(l.lines.Bytes(), into)
}
