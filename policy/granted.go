package policy

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Granted is what a rule of a file of grants tells of the yes that it stands
// for. Only the bridge writes such rules (DESIGN 7, "always").
type Granted struct {
	Rule              string // its name
	Line, Column      int    // where it stands
	Tool, Caller, Via string // of the one call that it allows; "" where it does not name just one
	Until             time.Time

	// What stands under granted. By is nil where that is missing, as it is in
	// files of earlier versions.
	By         []string  // who agreed
	On         time.Time // when
	Asked      []string  // the rules that had asked; nil for the default
	Topic      string
	Gateway    string // that keeps the topic; "": this machine's own
	Server     string // whose tool it is
	Dir        string // in which that was started
	Command    string // as what, as a word that only the bridge can make
	Definition string // fingerprint of the tool's definition
	Args       string // the arguments as JSON, not yet scanned

	// Said is the whole rule in one spelling: two rules that say the same in
	// the same words have the same.
	Said string
}

// LoadGrants reads a file of grants: a policy whose rules may tell, under
// granted, of the yes that they stand for. The error is a *LoadError. By itself
// the policy means what its rules say; that a yes also needs the tool to be what
// it was, and those who agreed to be enough, is for the caller to hold.
func LoadGrants(name string, data []byte) (*Policy, []Granted, error) {
	l := &loader{grants: true}
	p, err := l.load(name, data)
	return p, l.granted, err
}

// grant reads what a rule tells of its yes, as far as it does.
func (l *loader) grant(at item, name string) {
	only := func(key string) string {
		v := at.member(key)
		if v.form == list && len(v.values) == 1 {
			v = v.values[0]
		}
		return v.text
	}
	g := Granted{Rule: name, Line: at.line, Column: at.column, Tool: only("allow"), Caller: only("from"), Via: only("via"), Said: at.spelling()}
	g.Until, _ = time.Parse(time.RFC3339, only("until")) // its form is until's to check
	if told := at.member("granted"); told.line > 0 {
		l.told(told, &g)
	}
	l.granted = append(l.granted, g)
}

func (l *loader) told(at item, g *Granted) {
	texts := func(into *[]string, what string) func(item) {
		return func(v item) {
			for _, one := range l.texts(v, what) {
				*into = append(*into, one.text)
			}
		}
	}
	text := func(into *string, what string) func(item) {
		return func(v item) { *into = l.text(v, what) }
	}
	known := map[string]func(item){
		"by": texts(&g.By, "by"), "asked": texts(&g.Asked, "asked"), "topic": text(&g.Topic, "topic"),
		"gateway": text(&g.Gateway, "gateway"), "server": text(&g.Server, "server"), "dir": text(&g.Dir, "dir"), "command": text(&g.Command, "command"),
		"definition": text(&g.Definition, "definition"), "args": text(&g.Args, "args"),
		"on": func(v item) {
			var err error
			if g.On, err = time.Parse(time.RFC3339, l.text(v, "on")); err != nil {
				l.wrong(v, grantAgain, "on: %q is no moment like 2026-12-31T18:00:00Z", v.text)
			}
		},
	}
	if !l.fields(at, "granted", known) {
		return
	}
	for _, key := range []string{"by", "on", "topic", "definition", "args"} {
		if at.member(key).line == 0 {
			l.wrong(at, grantAgain, "granted does not say %s", key)
		}
	}
}

const grantAgain = "delete the rule, and the call is asked about again"

// member is the value of a key, an item without a line if there is none.
func (at item) member(key string) item {
	if i := slices.IndexFunc(at.keys, func(k item) bool { return k.text == key }); i >= 0 {
		return at.values[i]
	}
	return item{}
}

// spelling is an item without its place: two that say the same in the same words
// have the same.
func (at item) spelling() string {
	var b strings.Builder
	b.WriteByte("slm-"[at.form])
	if at.form == scalar {
		b.WriteString(strconv.Quote(at.text) + strconv.FormatBool(at.plain))
	}
	for i, v := range at.values {
		if at.form == mapping {
			b.WriteString(at.keys[i].spelling())
		}
		b.WriteString(v.spelling())
	}
	b.WriteByte('.')
	return b.String()
}
