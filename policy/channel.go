package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// A Channel is one way in which people hear of questions, as the file says it (key notify). It is
// not opened here, and its secrets are not in it.
type Channel struct {
	Name string
	Line int
	Kind string // one of ChannelKinds

	To      []Value // where it leads, by its kind: a URL, a chat, addresses, a command
	From    string  // of mail: the sender
	Server  string  // of mail: host:port
	User    string  // of mail
	API     string  // of slack and telegram: another URL than their own; ""
	Secrets map[string]Value

	For      []string      // whose questions: participants, or "local"
	After    time.Duration // how long a question must have been open
	Remind   bool          // at 50 and 90 % of its time
	Escalate *Escalation   // nil: to nobody
	Once     bool          // it hears of a question once, and not that it is closed; no file says so

	// People are the participants that those are who may answer here, by the id that they have in
	// the channel; nil: nobody answers here. None of them is "local" or "host".
	People map[string]string
}

// An Escalation has another channel hear of a question that is still open.
type Escalation struct {
	After time.Duration // since it was put
	To    string        // the name of a channel
}

// A Value is a text of the file, or where it is kept that there is none in it: a variable of the
// bridge's environment, or a file. Exactly one of them is set.
type Value struct{ Text, Env, File string }

// String is the value as the file spells it: no secret is in that.
func (v Value) String() string {
	switch {
	case v.Env != "":
		return "${" + v.Env + "}"
	case v.File != "":
		return filePrefix + v.File
	}
	return v.Text
}

const filePrefix = "file:"

// At is how long a question must have been open until a channel hears of it: as it says, or where
// another escalates to it and it does not say, as the first that does.
func (c *Channel) At(all []Channel) time.Duration {
	at := c.After
	for _, other := range all {
		if e := other.Escalate; e != nil && e.To == c.Name && (at == 0 || e.After < at) {
			at = e.After
		}
	}
	return at
}

// Elsewhere are the values of a channel that stand in a variable or a file: its secrets, and where
// it leads if that is one.
func (c *Channel) Elsewhere() (all []Value) {
	for _, v := range slices.Concat(c.To, slices.Collect(maps.Values(c.Secrets))) {
		if v.Text == "" {
			all = append(all, v)
		}
	}
	return all
}

// leads is where a channel leads, and with whose leave, in one spelling.
func (c *Channel) leads() string {
	var b strings.Builder
	b.WriteString(c.Kind)
	for _, to := range c.To {
		b.WriteString(" " + to.String())
	}
	add := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, ", %s %s", name, value)
		}
	}
	add("from", c.From)
	add("server", c.Server)
	add("user", c.User)
	add("api", c.API)
	for _, name := range slices.Sorted(maps.Keys(c.Secrets)) {
		add(name, c.Secrets[name].String())
	}
	return b.String()
}
