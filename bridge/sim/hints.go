package sim

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	exact "github.com/go-json-experiment/json"
)

// hints are what a proposal says beside what is proposed (WIRE 7.8): they may
// delay or narrow what the bridge does.
type hints struct {
	preferred []string      // who should serve it, where nobody is named as its addressee
	exclusive bool          // nobody else may for a while
	never     bool          // nor later
	wait      time.Duration // for which others leave it to them
	mute      bool          // no reject is wanted
}

// drawHints is what a proposer hints at.
func drawHints(d dice) (h hints) {
	h.preferred = pick(d, nil, []string{us}, []string{us, "bob"}, []string{"alice"}, []string{"alice"}, []string{"alice", "bob"}, []string{"carol", "agent-b"})
	h.exclusive, h.mute = d.chance(.3), d.chance(.3)
	h.never = h.exclusive && d.chance(.3)
	h.wait = 5 * time.Second
	if h.exclusive {
		h.wait = 3 * time.Second
	}
	if d.chance(.4) {
		h.wait = time.Duration(d.IntN(20)) * time.Second
	}
	return h
}

// text is how a proposer writes them: as members of a payload, in one of the
// ways of the drafts.
func (h hints) text(d dice) string {
	who, _ := json.Marshal(h.preferred)
	var all []string
	add := func(format string, a ...any) { all = append(all, fmt.Sprintf(format, a...)) }
	if h.mute {
		add(`"quick_reject":false`)
	}
	if h.exclusive {
		add(`"exclusive":true,"exclusive_timeout":%d`, h.wait.Milliseconds())
	} else {
		add(`"fallback_timeout":%d`, h.wait.Milliseconds())
	}
	if h.never {
		add(`"fallback_to_broadcast":false`)
	}
	rest := func() string { return strings.Join(all, ",") }
	switch n := d.IntN(6); {
	case h.preferred == nil:
		return rest()
	case n == 0 && len(h.preferred) == 1:
		add(`"preferred":"%s"`, h.preferred[0])
	case n == 1 && len(h.preferred) == 1:
		add(`"preferred_participant":"%s"`, h.preferred[0])
	case n == 2:
		add(`"preferred_fulfillers":%s`, who)
	case n == 3:
		add(`"fulfiller":%s`, who)
	case n == 4:
		add(`"preferred":%s`, who)
	default:
		add(`"preferred":%s`, who)
		return `"targeting":{` + rest() + `}`
	}
	return rest()
}

// A hinting is a payload with hints, as the checker reads it.
type hinting struct {
	Preferred    names  `json:"preferred"`
	Exclusive    *bool  `json:"exclusive"`
	Mute         *bool  `json:"quick_reject"`
	Fallback     *int64 `json:"fallback_timeout"`
	ExclusiveFor *int64 `json:"exclusive_timeout"`
	Broadcast    *bool  `json:"fallback_to_broadcast"`
}

// names are one name or several.
type names []string

func (n *names) UnmarshalJSON(text []byte) error { return (*oneOrMany)(n).UnmarshalJSON(text) }

// readHints reads the hints of a payload. One that cannot be read hints at
// nothing, and nothing may come of it.
func readHints(payload []byte) (h hints) {
	var p struct {
		hinting
		Targeting   hinting `json:"targeting"`
		Fulfillers  names   `json:"preferred_fulfillers"`
		Participant names   `json:"preferred_participant"`
		Fulfiller   names   `json:"fulfiller"`
	}
	if exact.Unmarshal(payload, &p) != nil { // a name in other letters is another name
		return h
	}
	for _, who := range []names{p.Targeting.Preferred, p.Preferred, p.Fulfillers, p.Participant, p.Fulfiller} {
		if h.preferred == nil {
			h.preferred = who
		}
	}
	h.exclusive = firstOf(false, p.Targeting.Exclusive, p.Exclusive)
	h.mute = !firstOf(true, p.Targeting.Mute, p.Mute)
	h.never = h.exclusive && !firstOf(true, p.Targeting.Broadcast, p.Broadcast)
	h.wait = time.Duration(firstOf(5000, p.Targeting.Fallback, p.Fallback)) * time.Millisecond
	if h.exclusive {
		h.wait = time.Duration(firstOf(3000, p.Targeting.ExclusiveFor, p.ExclusiveFor)) * time.Millisecond
	}
	h.wait = min(h.wait, 10*time.Minute)
	return h
}

// readTTL reads for how long a proposal is wanted, in its payload; 0: it says no end that can
// be read.
func readTTL(payload []byte) time.Duration {
	var p struct {
		TTL int64 `json:"ttl"`
	}
	if exact.Unmarshal(payload, &p) != nil {
		return 0
	}
	return time.Duration(p.TTL) * time.Millisecond
}

func firstOf[T any](otherwise T, all ...*T) T {
	for _, v := range all {
		if v != nil {
			return *v
		}
	}
	return otherwise
}
