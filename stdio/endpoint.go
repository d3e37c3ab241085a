package stdio

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// An Endpoint is where a server is that somebody else runs (DESIGN 14,
// "Attach"). The zero Endpoint is none.
type Endpoint struct {
	Network string // unix, tcp, fifo or fd

	// In is what we read from and Out what we write to: the path of a named
	// pipe, or the number of a descriptor. For a socket both are its address.
	In, Out string
}

var errEndpoint = errors.New("an endpoint is unix:PATH, tcp:HOST:PORT, fifo:IN,OUT, fd:IN,OUT, or - for stdin and stdout of this command")

// ParseEndpoint reads unix:PATH, tcp:HOST:PORT, fifo:IN,OUT, fd:IN,OUT, and -,
// which is fd:0,1.
func ParseEndpoint(text string) (Endpoint, error) {
	if text == "-" {
		return Endpoint{"fd", "0", "1"}, nil
	}
	network, where, _ := strings.Cut(text, ":")
	e := Endpoint{network, where, where}
	switch network {
	case "unix":
	case "tcp":
		if _, port, err := net.SplitHostPort(where); err != nil || port == "" {
			return Endpoint{}, errEndpoint
		}
	case "fifo", "fd":
		e.In, e.Out, _ = strings.Cut(where, ",")
	default:
		return Endpoint{}, errEndpoint
	}
	if e.In == "" || e.Out == "" || e.Network == "fd" && !(isNumber(e.In) && isNumber(e.Out)) {
		return Endpoint{}, errEndpoint
	}
	return e, nil
}

func isNumber(text string) bool {
	_, err := strconv.ParseUint(text, 10, 16)
	return err == nil
}

// Check reports whether a descriptor can be an endpoint: one that we were not
// started with may later be a file of our own. It is to be asked before any is
// opened.
func (e Endpoint) Check() error {
	if e.Network != "fd" {
		return nil
	}
	for _, text := range []string{e.In, e.Out} {
		number, _ := strconv.Atoi(text)
		if !carries(number) {
			return fmt.Errorf("descriptor %d is no pipe, socket or terminal that this command was started with", number)
		}
	}
	return nil
}

// String is what ParseEndpoint reads.
func (e Endpoint) String() string {
	switch {
	case e == Endpoint{"fd", "0", "1"}:
		return "-"
	case e.Network == "unix" || e.Network == "tcp":
		return e.Network + ":" + e.In
	}
	return e.Network + ":" + e.In + "," + e.Out
}

// onlyOnce reports whether the endpoint, once closed, cannot be opened again.
func (e Endpoint) onlyOnce() bool { return e.Network == "fd" }

// open takes the two ends. It waits for whoever is to be at the other one, at
// most until ctx ends.
func (e Endpoint) open(ctx context.Context) (ends, error) {
	switch e.Network {
	case "fifo":
		return e.openPipes(ctx)
	case "fd":
		return e.openDescriptors()
	}
	c, err := new(net.Dialer).DialContext(ctx, e.Network, e.In)
	if err != nil {
		return ends{}, err
	}
	s := c.(socket) // both kinds are
	return ends{stdin: writeHalf{s}, stdout: s}, nil
}

type socket interface {
	net.Conn
	syscall.Conn
	CloseWrite() error
}

// writeHalf is the half of a socket that we write to. The other end hears of its
// end, and can still say what it has to say.
type writeHalf struct{ socket }

func (s writeHalf) Close() error { return s.CloseWrite() }

func (e Endpoint) openDescriptors() (ends, error) {
	in, _ := strconv.Atoi(e.In)
	out, _ := strconv.Atoi(e.Out)
	r, err := OpenDescriptor(in)
	if err != nil {
		return ends{}, err
	}
	w, err := OpenDescriptor(out)
	if err != nil {
		r.Close()
		return ends{}, err
	}
	return ends{stdin: w, stdout: r.Interruptible()}, nil
}

// openPipes opens both pipes at a time: who is at the other end does it in an
// order of its own.
func (e Endpoint) openPipes(ctx context.Context) (ends, error) {
	for _, path := range []string{e.In, e.Out} {
		info, err := os.Stat(path)
		if err == nil && info.Mode()&os.ModeNamedPipe == 0 {
			err = fmt.Errorf("%s is no named pipe", path)
		}
		if err != nil {
			return ends{}, err
		}
	}
	in, out := openPipe(ctx, e.In, os.O_RDONLY), openPipe(ctx, e.Out, os.O_WRONLY)
	r, w := <-in, <-out
	if err := cmp.Or(r.err, w.err); err != nil {
		r.file.Close() // nil takes no offence
		w.file.Close()
		return ends{}, err
	}
	return ends{stdin: w.file, stdout: r.file}, nil
}

type opened struct {
	file *os.File
	err  error
}

// openPipe opens a named pipe, which waits for the other end to be opened too.
func openPipe(ctx context.Context, path string, flag int) <-chan opened {
	result := make(chan opened, 1)
	go func() {
		returned := make(chan struct{})
		late := context.AfterFunc(ctx, func() {
			// Who holds both ends for a moment lets a blocked open return.
			if both, err := os.OpenFile(path, os.O_RDWR|syscall.O_NONBLOCK, 0); err == nil {
				<-returned
				both.Close()
			}
		})
		file, err := os.OpenFile(path, flag, 0)
		close(returned)
		if !late() {
			file.Close()
			file, err = nil, fmt.Errorf("%s: nobody has opened its other end: %w", path, context.Cause(ctx))
		}
		result <- opened{file, err}
	}()
	return result
}

// ends are our ends of the pipes to a server. stderr is nil where there is
// none.
type ends struct {
	stdin          io.WriteCloser
	stdout, stderr io.ReadCloser
}
