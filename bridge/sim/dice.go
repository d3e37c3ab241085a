package sim

import (
	"hash/fnv"
	"math/rand/v2"
	"time"
)

// dice are one stream of chance. Each part of the world has its own, so that
// what one of them does changes nothing for the others.
type dice struct{ *rand.Rand }

func newDice(seed uint64, stream string) dice {
	h := fnv.New64a()
	h.Write([]byte(stream))
	return dice{rand.New(rand.NewPCG(seed, h.Sum64()))}
}

func (d dice) chance(p float64) bool { return p > 0 && d.Float64() < p }

func (d dice) between(low, high time.Duration) time.Duration {
	return low + time.Duration(d.Int64N(int64(high-low)+1))
}

func pick[T any](d dice, all ...T) T { return all[d.IntN(len(all))] }

// random are 128 bits.
func (d dice) random() (r [16]byte) {
	for i := range r {
		r[i] = byte(d.Uint32())
	}
	return r
}
