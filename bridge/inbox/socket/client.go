package socket

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
)

// answerTime is how long a bridge may take to answer.
const answerTime = 10 * time.Second

// maxAnswer bounds an answer other than a list: the whole of a question with all of its
// arguments, each of whose characters may be shown as several.
const maxAnswer = 256 << 20

// A Client is the inbox of a bridge by way of its socket. Its methods may be called
// from many goroutines. Each makes a connection of its own, so a Client is good as long
// as there is a bridge, and nothing is asked twice.
type Client struct {
	Path  string
	Known inbox.Status // as of Dial

	http *http.Client
}

var (
	_ inbox.Halter    = (*Client)(nil)
	_ inbox.Explainer = (*Client)(nil)
)

// At is the Client of the socket at path, which nobody has been asked anything by yet.
func At(path string) *Client {
	return &Client{Path: path, http: &http.Client{
		Transport: &http.Transport{
			DialContext:            func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx, path) },
			DisableKeepAlives:      true,
			DisableCompression:     true,
			MaxResponseHeaderBytes: 64 << 10,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Dial connects to the socket at path, and asks who is there.
func Dial(ctx context.Context, path string) (c *Client, err error) {
	c = At(path)
	c.Known, err = c.Status(ctx)
	return c, err
}

// All connects to every socket in dir behind which somebody lives, in the order of
// their names, all at once: one that hangs keeps none from being asked. What dead processes left
// there is passed over. With an error there are those that did answer.
func All(ctx context.Context, dir string) ([]*Client, error) {
	paths, err := Paths(dir)
	if err != nil {
		return nil, err
	}
	all, failed := dialAll(ctx, paths)
	return all, errors.Join(failed...)
}

// lookTime is how long bridges may take to say who they are where they will be asked again.
const lookTime = time.Second

// Others is [All] for who looks again and again: without those that are known by the paths of their
// sockets, and without those that do not answer, which hold it up for a second at the most. The
// error is that of [Paths].
func Others(ctx context.Context, dir string, known func(path string) bool) ([]*Client, error) {
	paths, err := Paths(dir)
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	all, _ := dialAll(ctx, slices.DeleteFunc(paths, known))
	return all, err
}

// dialAll connects to all at once. failed has a place for each path: why one that lives did not
// answer, else nil.
func dialAll(ctx context.Context, paths []string) (all []*Client, failed []error) {
	all, failed = make([]*Client, len(paths)), make([]error, len(paths))
	var dials sync.WaitGroup
	for i, path := range paths {
		dials.Go(func() {
			c, err := Dial(ctx, path)
			if errors.Is(err, errHungUp) {
				c, err = Dial(ctx, path) // who has ended is gone by now, and who has no room hangs up again
			}
			switch {
			case err == nil:
				all[i] = c
			case !gone(err):
				failed[i] = fmt.Errorf("%s: %w", path, err)
			}
		})
	}
	dials.Wait()
	return slices.DeleteFunc(all, func(c *Client) bool { return c == nil }), failed
}

// gone: nobody lives behind the socket any more.
func gone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED)
}

var errHungUp = errors.New("the bridge hung up")

// Status is as the bridge says it now; c.Known is as it was at [Dial].
func (c *Client) Status(ctx context.Context) (s inbox.Status, err error) {
	err = c.ask(ctx, http.MethodGet, "/status", nil, &s)
	return s, err
}

// List is [inbox.Inbox]'s.
func (c *Client) List(ctx context.Context, args bool) ([]approval.Summary, error) {
	var list questionList
	path := "/questions"
	if args {
		path += "?args=true"
	}
	err := c.ask(ctx, http.MethodGet, path, nil, &list)
	return list.Questions, err
}

// Show is [inbox.Inbox]'s.
func (c *Client) Show(ctx context.Context, id string) (v approval.View, err error) {
	err = c.ask(ctx, http.MethodGet, "/questions/"+url.PathEscape(id), nil, &v)
	return v, err
}

// Decide is [inbox.Inbox]'s. Whether an answer arrived is not known after an error that is
// no *[inbox.Refusal].
func (c *Client) Decide(ctx context.Context, d inbox.Decision) (o inbox.Outcome, err error) {
	body, err := json.Marshal(answerBody{d.Digest, d.Result})
	if err != nil {
		return o, err
	}
	err = c.ask(ctx, http.MethodPost, "/questions/"+url.PathEscape(d.ID)+"/answer", body, &o)
	return o, err
}

// Grants is [inbox.Inbox]'s.
func (c *Client) Grants(ctx context.Context) ([]inbox.Grant, error) {
	var list grantList
	err := c.ask(ctx, http.MethodGet, "/grants", nil, &list)
	return list.Grants, err
}

// Revoke is [inbox.Inbox]'s.
func (c *Client) Revoke(ctx context.Context, id string) (bool, error) {
	var was revoked
	err := c.ask(ctx, http.MethodDelete, "/grants/"+url.PathEscape(id), nil, &was)
	return was.Revoked, err
}

// Halt is [inbox.Halter]'s. After an error [Client.Status] says whether the bridge is halted.
func (c *Client) Halt(ctx context.Context, h inbox.Halt) (how inbox.Halted, err error) {
	body, err := json.Marshal(h)
	if err != nil {
		return how, err
	}
	err = c.ask(ctx, http.MethodPost, "/halt", body, &how)
	return how, err
}

// Resume is [inbox.Halter]'s. After an error [Client.Status] says whether the bridge is halted.
func (c *Client) Resume(ctx context.Context, reason string) error {
	body, err := json.Marshal(resumeBody{reason})
	if err != nil {
		return err
	}
	return c.ask(ctx, http.MethodPost, "/resume", body, &nothing{})
}

// Explain is [inbox.Explainer]'s.
func (c *Client) Explain(ctx context.Context, call inbox.Call) (string, error) {
	body, err := json.Marshal(call)
	if err != nil {
		return "", err
	}
	var said explained
	err = c.ask(ctx, http.MethodPost, "/explain", body, &said)
	return said.Words, err
}

// Watch is that of [inbox.Inbox]. It ends with an error when the bridge goes away or
// finds us too slow.
func (c *Client) Watch(ctx context.Context) iter.Seq2[inbox.Event, error] {
	return func(yield func(inbox.Event, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		body, err := c.send(ctx, http.MethodGet, "/watch", nil)
		if err != nil {
			if ctx.Err() == nil {
				yield(inbox.Event{}, err)
			}
			return
		}
		defer body.Close()
		lines := bufio.NewScanner(body)
		lines.Buffer(nil, maxBody)
		for e := (inbox.Event{}); yield(e, nil); {
			if e, err = nextEvent(lines); err != nil {
				if ctx.Err() == nil {
					yield(inbox.Event{}, err)
				}
				return
			}
		}
	}
}

func nextEvent(lines *bufio.Scanner) (e inbox.Event, err error) {
	for lines.Scan() {
		if data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: ")); ok {
			return e, json.Unmarshal(data, &e)
		}
	}
	return e, errHungUp
}

// ask asks, and reads the answer.
func (c *Client) ask(ctx context.Context, method, path string, body []byte, answer any) error {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	from, err := c.send(ctx, method, path, body)
	if err != nil {
		return err
	}
	defer from.Close()
	most := io.Reader(from)
	if _, list := answer.(*questionList); !list {
		most = io.LimitReader(from, maxAnswer)
	}
	if err := json.NewDecoder(most).Decode(answer); err != nil {
		return inWords(ctx, err)
	}
	return nil
}

// send returns the body of an answer that is no error. The caller closes it.
func (c *Client) send(ctx context.Context, method, path string, body []byte) (io.ReadCloser, error) {
	r, err := http.NewRequestWithContext(ctx, method, "http://mcpx-bridge"+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	got, err := c.http.Do(r)
	if err != nil {
		return nil, inWords(ctx, err)
	}
	if got.StatusCode == http.StatusOK {
		return got.Body, nil
	}
	defer got.Body.Close()
	var said struct {
		failure
		inbox.Refusal
	}
	err = json.NewDecoder(io.LimitReader(got.Body, maxBody)).Decode(&said)
	switch {
	case err == nil && said.Reason != "":
		return nil, &said.Refusal
	case err == nil && said.failure.Error != "":
		return nil, errors.New(said.failure.Error)
	}
	return nil, errors.New("the bridge answers " + got.Status)
}

// inWords says of an error on the way to a bridge and back what it means.
func inWords(ctx context.Context, err error) error {
	if on, ok := errors.AsType[*url.Error](err); ok {
		err = on.Err
	}
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("the bridge does not answer: %w", context.Cause(ctx))
	case strings.Contains(err.Error(), `malformed HTTP response "{\"jsonrpc`):
		return errors.New("the bridge is of an older version of mcpx-bridge: ask with that version, or start it anew")
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return errHungUp
	}
	return err
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
