package node

import (
	"crypto/rand"
	"encoding/hex"
	"net"
	"path/filepath"
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/commandline"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/localgateway"
	"github.com/mcpx-protocol/mcpx-bridge/stdio"
)

// A Target is the server that is bridged: a command that starts it, or where it is
// already.
type Target struct {
	Args []string       // the command and its arguments, passed on without a shell
	At   stdio.Endpoint // in the place of Args
}

// Attached reports whether the server is somebody else's to start and stop.
func (t Target) Attached() bool { return t.Args == nil }

// String names it to the people at this machine, without what looks like a secret.
func (t Target) String() string {
	if t.Attached() {
		return t.At.String()
	}
	return commandline.Public(t.Args)
}

// Program is what the topic may know of it: no argument, and no folder.
func (t Target) Program() string {
	if t.Attached() {
		return endpointID(t.At)
	}
	return commandline.Public([]string{commandline.Program(t.Args)})
}

// ID is the participant id for it when nobody chose another.
func (t Target) ID() string {
	if t.Attached() {
		return endpointID(t.At)
	}
	return commandline.ID(t.Args)
}

// endpointID finds a participant id in an endpoint: unix:/run/notes.sock is
// "notes".
func endpointID(at stdio.Endpoint) string {
	switch at.Network {
	case "tcp":
		host, port, _ := net.SplitHostPort(at.In)
		if !localgateway.OffLoopback(at.In) {
			return commandline.TidyID("tcp-" + port)
		}
		return commandline.TidyID("tcp-" + host + "-" + port)
	case "fd":
		return "server"
	}
	name := filepath.Base(at.In)
	return commandline.TidyID(commandline.TrimRole(strings.TrimSuffix(name, filepath.Ext(name))))
}

// idPrefix begins our ids at a server that others may talk to as well.
func (t Target) idPrefix() string {
	if !t.Attached() {
		return ""
	}
	return newIDPrefix()
}

// newIDPrefix is letters and digits that nobody can guess.
func newIDPrefix() string {
	r := fresh128()
	return "mcpx" + hex.EncodeToString(r[:8]) + "n"
}

// fresh128 are 128 bits that nobody can guess.
func fresh128() (r [16]byte) {
	rand.Read(r[:])
	return r
}

// newSession begins the names of this run's calls.
func newSession() string {
	r := fresh128()
	return hex.EncodeToString(r[:4]) + "-"
}
