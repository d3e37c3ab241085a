//go:build linux

package main

import (
	"crypto/sha256"
	"encoding/hex"
	"math/rand/v2"
	"time"
)

// bridgeID is the participant that the bridge is.
const bridgeID = "fs"

// A fate is a tool, and what is to become of a call of it.
type fate struct {
	tool   string
	share  int    // of all calls, in percent
	reason string // of its refusal when nothing is broken; "" for a result
	asked  bool   // somebody is asked first
}

var fates = []fate{
	{tool: "run", share: 88},
	{tool: "never", share: 4, reason: "policy_denied"},
	{tool: "sometimes", share: 4}, // as the rules say just now
	{tool: "yes", share: 2, asked: true},
	{tool: "no", share: 2, reason: "declined", asked: true},
}

// A call is one call, and what its caller heard of it.
type call struct {
	key, from string
	fate      *fate
	sent      time.Time
	sum       string // of its arguments
	frame     []byte // until it has ended

	ended    time.Time
	answers  int
	results  int
	reasons  []string // of errors
	executed []string
	again    bool // it was sent twice; at once, or when there was no answer
}

// sumOf tells arguments from all others.
func sumOf(arguments []byte) string {
	sum := sha256.Sum256(arguments)
	return hex.EncodeToString(sum[:8])
}

// resultOf is the result of the call with these arguments, and of no other.
func resultOf(sum string) string { return `{"content":[{"type":"text","text":"` + sum + `"}]}` }

func drawn(dice *rand.Rand) *fate {
	at := dice.IntN(100)
	for i := range fates {
		if at -= fates[i].share; at < 0 {
			return &fates[i]
		}
	}
	return &fates[0]
}
