//go:build !linux && !darwin && !freebsd

package socket

import "net"

// sameUser cannot be told here; the directory's rights must do.
func sameUser(net.Conn) error { return nil }
