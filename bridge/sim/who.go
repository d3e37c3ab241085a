package sim

import "hash/fnv"

// us is the participant that the bridge is.
const us = "fs"

// everybody is who else may be in the topic: those who call, and then those who decide.
var everybody = []string{"agent-a", "agent-b", "mallory", "alice", "bob", "carol", "dave"}

// deciders are the latter.
var deciders = everybody[3:]

// attackerName is the participant that the attacker is.
const attackerName = "mallory"

// nobody is somebody who is never here.
const nobody = "eve"

// agrees is what everybody thinks of a call.
func agrees(envelope string) bool {
	h := fnv.New32a()
	h.Write([]byte(envelope))
	return h.Sum32()%10 < 7
}
