package stdio

import (
	"io"
	"os"
	"sync"
)

// A Descriptor is a pipe or socket that we were started with, such as our own
// stdin. While it is open it is in non-blocking mode, which its other users see
// too: the mode belongs to what the descriptor stands for. Close gives the mode
// back. A terminal or a file is left as it is.
//
// Read and Write are those of an [os.File]; the end of the process may come
// before Close, which then cannot give the mode back.
type Descriptor struct {
	*os.File
	number int
	waits  bool // can be waited for by the runtime, and so be interrupted
	set    bool // the mode was changed
	closed sync.Once
}

// OpenDescriptor takes over a descriptor by its number. Nobody else in this
// process may read from it or write to it from then on.
func OpenDescriptor(number int) (*Descriptor, error) {
	f, waits, set, err := openDescriptor(number)
	if err != nil {
		return nil, err
	}
	return &Descriptor{File: f, number: number, waits: waits, set: set}, nil
}

// Close ends what is written through it: who reads at the other end sees the
// end, unless another process has it open too.
func (d *Descriptor) Close() error {
	err := d.File.Close() // waits until nobody is inside a Read or Write
	d.closed.Do(func() { giveBack(d.number, d.set) })
	return err
}

// Interruptible returns d for reading, such that Close ends a Read that waits.
func (d *Descriptor) Interruptible() io.ReadCloser {
	if d.waits {
		return d
	}
	r, w := io.Pipe()
	go func() { // until the process ends, if need be: nothing else ends a read of a terminal
		_, err := io.Copy(w, d.File)
		w.CloseWithError(err)
	}()
	return r
}
