//go:build !linux

package inbox

import "io"

// New returns r: elsewhere there is no shorter way.
func New(r io.Reader) io.Reader { return r }
