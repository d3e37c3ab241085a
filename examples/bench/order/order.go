// Package order is what the bench asks of its load generator, a line of JSON each, and
// what it is told.
package order

// Calls says which calls are to be made.
type Calls struct {
	Size     int `json:"size"`     // bytes of text to echo
	InFlight int `json:"inflight"` // calls open at once
	Calls    int `json:"calls"`    // at most so many
	MS       int `json:"ms"`       // for at most so long; 0 for as long as it takes
}

// Called is what became of them. Times are nanoseconds.
type Called struct {
	Calls     int     `json:"calls"`
	PerSecond float64 `json:"per_second"`
	P50       float64 `json:"p50"`
	P99       float64 `json:"p99"`
	Max       float64 `json:"max"`

	// Busy is how long the parts between caller and server had a processor for each call,
	// 0 if that is not known. The load cannot see it.
	Busy float64 `json:"-"`
}

// Crowd says what is to be said to a crowd.
type Crowd struct {
	Size    int  `json:"size"`    // bytes of text in a frame
	Rate    int  `json:"rate"`    // frames a second; 0: as many as arrive, with a few under way
	MS      int  `json:"ms"`      // for so long
	Fill    int  `json:"fill"`    // bytes that are said before, untimed, in frames of 256 KiB
	Sleeper bool `json:"sleeper"` // one more is in the topic, and reads nothing of all that
}

// Heard is what of that arrived. Times are nanoseconds from the moment a frame was due
// to the moment one of the crowd had it.
type Heard struct {
	Sent      int     `json:"sent"`
	Delivered int     `json:"delivered"`
	Lost      int     `json:"lost"`
	PerSecond float64 `json:"per_second"` // deliveries
	P50       float64 `json:"p50"`
	P99       float64 `json:"p99"`
	Max       float64 `json:"max"`
}
