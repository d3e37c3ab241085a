package main

import (
	"github.com/mcpx-protocol/mcpx-bridge/bridge/commandline"
	"github.com/mcpx-protocol/mcpx-bridge/stdio"
)

// A target is the server that is bridged: a command that starts it, or where
// it is already.
type target struct {
	argv []string
	at   stdio.Endpoint
}

func (t target) attached() bool { return t.argv == nil }

// String names it to the people at this machine, without what looks like a secret.
func (t target) String() string {
	if t.attached() {
		return t.at.String()
	}
	return commandline.Public(t.argv)
}

// program is what the topic may know of it: no argument, and no folder.
func (t target) program() string {
	if t.attached() {
		return endpointID(t.at)
	}
	return commandline.Public([]string{commandline.Program(t.argv)})
}

// id is the participant id for it when nobody chose another.
func (t target) id() string {
	if t.attached() {
		return endpointID(t.at)
	}
	return commandline.ID(t.argv)
}
