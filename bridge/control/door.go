package control

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"time"
)

// Options are what a Door is opened with.
type Options struct {
	Dir    string // where sockets are; made (0700) if need be
	ID     string // of the bridge
	Bridge Bridge

	// OwnAnswers lets only guests of this process decide, those of [Door.Enter]: a
	// program that merely runs as the same user, as an agent with a shell does, may
	// look and may not answer.
	OwnAnswers bool

	MaxGuests int           // connections at one time; default 128
	Patience  time.Duration // how long a guest may take to read what it asked for; default 10 s
	Log       *slog.Logger  // nil: discard
}

// A Door is the local door of a bridge, listening.
type Door struct {
	o     Options
	place *place

	mu     sync.Mutex
	guests map[net.Conn]struct{}
	inside sync.WaitGroup // guests of this process
	shut   bool
}

// Open listens. It refuses a directory that others can get into, and never
// takes over the socket of a live bridge.
func Open(o Options) (*Door, error) {
	o.MaxGuests = cmp.Or(o.MaxGuests, 128)
	o.Patience = cmp.Or(o.Patience, 10*time.Second)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	p, err := take(o.Dir, o.ID)
	if err != nil {
		return nil, err
	}
	return &Door{o: o, place: p, guests: map[net.Conn]struct{}{}}, nil
}

// Path is the name of the socket.
func (d *Door) Path() string { return d.place.path }

// Serve lets guests in until ctx ends or Close is called, and has seen them
// all out when it returns. The socket is gone then. It must be called once.
func (d *Door) Serve(ctx context.Context) error {
	defer context.AfterFunc(ctx, d.Close)()
	var guests sync.WaitGroup
	defer d.inside.Wait()
	defer guests.Wait()
	defer d.Close()
	for {
		c, err := d.place.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil { // such as too many open files
			d.o.Log.Warn("the local door is stuck", "error", err)
			if !pause(ctx, 100*time.Millisecond) {
				return nil
			}
			continue
		}
		if d.admit(c) {
			guests.Go(func() {
				defer d.dismiss(c)
				newGuest(d, c, !d.o.OwnAnswers).serve()
			})
		}
	}
}

// Enter is [Dial] for this process itself, without the socket. Its answers count
// with OwnAnswers too.
func (d *Door) Enter(ctx context.Context) (*Client, error) {
	return enter(ctx, &Client{Path: d.Path(), own: d.letIn})
}

func (d *Door) letIn() (net.Conn, error) {
	ours, theirs := net.Pipe()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.shut {
		return nil, errHungUp
	}
	d.guests[theirs] = struct{}{}
	d.inside.Go(func() {
		defer d.dismiss(theirs)
		newGuest(d, theirs, true).serve()
	})
	return ours, nil
}

// Close sees everybody out and removes the socket. It may be called more than
// once.
func (d *Door) Close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.shut = true
	for c := range d.guests {
		c.Close()
	}
	d.place.leave()
}

// admit decides who may come in; who may not is closed.
func (d *Door) admit(c net.Conn) bool {
	err := sameUser(c)
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case err != nil:
		d.o.Log.Warn("turned away at the local door", "error", err)
	case len(d.guests) >= d.o.MaxGuests:
		d.o.Log.Warn("turned away at the local door", "error", "too many are in already")
	case !d.shut:
		d.guests[c] = struct{}{}
		return true
	}
	c.Close()
	return false
}

func (d *Door) dismiss(c net.Conn) {
	c.Close()
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.guests, c)
}

// pause waits, and reports false if ctx ended first.
func pause(ctx context.Context, t time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(t):
		return true
	}
}
