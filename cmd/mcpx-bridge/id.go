package main

import (
	"crypto/rand"
	"encoding/hex"
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// checkID reports why id cannot be a participant's, under the flag's name. What
// only looks like an id of the gateway's is refused too.
func checkID(flag, id string) error {
	switch {
	case strings.HasPrefix(strings.ToLower(id), "system"):
		return misused("ids that begin with system belong to gateways; choose another one", "%s: %q is reserved", flag, id)
	case !wire.ValidID(id):
		return misused("an id is "+wire.IDGrammar, "%s: %q is no participant id", flag, id)
	}
	return nil
}

// randomID is a participant id for a seat that nobody will ask for by name.
func randomID() string {
	var b [4]byte
	rand.Read(b[:])
	return text.MadeUp + hex.EncodeToString(b[:])
}
