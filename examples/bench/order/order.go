// Package order is what the bench asks of its load generator and what it is told, a line
// of JSON each.
package order

// An Order says which calls are to be made, or what is to be said to a crowd.
type Order struct {
	Size int `json:"size"` // bytes of text to echo, or in a frame
	MS   int `json:"ms"`   // for at most so long; 0 for as long as it takes

	InFlight int `json:"inflight"` // calls open at once
	Calls    int `json:"calls"`    // at most so many

	Rate    int  `json:"rate"`    // frames a second; 0: as many as arrive, with a few under way
	Fill    int  `json:"fill"`    // bytes that are said before, untimed, in frames of 256 KiB
	Sleeper bool `json:"sleeper"` // one more is in the topic, and reads nothing of all that
}

// A Result is what became of it. Times are nanoseconds: of a call there and back, of a
// frame from the moment it was due to the moment one of the crowd had it.
type Result struct {
	Calls     int     `json:"calls"`      // or deliveries
	Lost      int     `json:"lost"`       // deliveries
	PerSecond float64 `json:"per_second"` // of them
	P50       float64 `json:"p50"`
	P99       float64 `json:"p99"`
	Max       float64 `json:"max"`

	// Busy is how long the parts between caller and server had a processor for each call,
	// 0 if that is not known. The load cannot see it.
	Busy float64 `json:"-"`
}

// Of sums up how long each took, sorted, in so much time.
func Of[D ~int64](took []D, elapsed D) Result {
	n := len(took)
	if n == 0 {
		return Result{}
	}
	return Result{Calls: n, PerSecond: float64(n) / (float64(elapsed) / 1e9), P50: float64(took[n/2]), P99: float64(took[n*99/100]), Max: float64(took[n-1])}
}
