// Package loopback says what is this machine by name. Who may be spoken to in clear text,
// and which pages may speak to a gateway, hang on it, and must not be answered in two ways.
// It looks nothing up. And it says which user of this machine is at the other end of a
// connection, where the system does.
package loopback

import (
	"net"
	"strings"
)

// Is reports whether a host, without port and brackets, is this machine by its one name or
// by number. No name is looked up: the answer could differ when it is dialled.
func Is(host string) bool {
	return strings.EqualFold(host, "localhost") || net.ParseIP(host).IsLoopback()
}
