//go:build !race && (linux || darwin)

package outbox

// underRace: the race detector watches.
const underRace = false
