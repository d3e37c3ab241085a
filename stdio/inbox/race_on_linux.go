//go:build race

package inbox

// underRace: the race detector watches.
const underRace = true
