package refusal

import (
	"fmt"
	"strings"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
)

// A Waiting is why a call is not decided yet, as its caller is told.
type Waiting struct {
	Of     []string  // who is asked, by the names that policies have
	Need   int       // how many of them must agree yet; 0 or 1: one
	Until  time.Time // when the time to decide is over; zero: nobody said
	Digest string    // of the question, the short one; "" leaves it out of the words
	Halted bool      // the bridge is halted: Until is when it would be over if the bridge went on now
}

// Words say it in a sentence without its end, not made safe to show. now is in the time zone
// in which the caller reads clocks.
func (w Waiting) Words(now time.Time) string {
	var b strings.Builder
	b.WriteString("waiting for approval")
	if len(w.Of) > 0 {
		b.WriteString(" by ")
		if w.Need > 1 {
			fmt.Fprintf(&b, "%d of: ", w.Need)
		}
		b.WriteString(People(w.Of))
	}
	if !w.Until.IsZero() && !w.Halted {
		b.WriteString(" until " + text.Exact(w.Until.In(now.Location()), now))
	}
	if w.Digest != "" {
		b.WriteString(" [" + w.Digest + "]")
	}
	if w.Halted {
		b.WriteString("; the bridge is halted, and no time passes until it goes on")
	}
	return b.String()
}

// Changed says, behind the names of so many who agreed, what of the call one of them changed, by
// its JSON pointers ("@timeout" for the time); "" for nothing. It repeats no value.
func Changed(people int, pointers []string) string {
	var names []string
	for _, pointer := range pointers {
		if pointer == "@timeout" {
			pointer = "its time limit"
		}
		names = append(names, strings.TrimPrefix(pointer, "/"))
	}
	switch {
	case len(names) == 0:
		return ""
	case people > 1:
		return ", one of whom changed " + text.Series(names, 0)
	}
	return ", who changed " + text.Series(names, 0)
}

// mostPeople is how many are named where many are asked.
const mostPeople = 6

// People are several of those.
func People(names []string) string {
	var all []string
	for _, name := range names[:min(len(names), mostPeople)] {
		all = append(all, text.Person(name))
	}
	if len(names) > mostPeople {
		all = append(all, "others")
	}
	return text.Series(all, 0)
}

// Declined says who said no to what, by the names that policies have.
func Declined(what string, by []string) string { return what + " was declined by " + People(by) }

// Says are the words of somebody by the names that policies have, "" for the owner.
func Says(by, words string) string {
	switch {
	case words == "":
		return ""
	case by == "":
		return "its owner says: " + words
	}
	who := strings.Split(by, ", ")
	if len(who) > 1 {
		return People(who) + " say: " + words
	}
	return text.Person(by) + " says: " + words
}

// Bracketed is a reason behind a sentence, for who looks it up; "" if there is none.
func Bracketed(reason string) string {
	if reason == "" {
		return ""
	}
	return " (" + reason + ")"
}
