package policy

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/mail"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/loopback"
)

// A channelKind is what one kind of channel needs and takes beside where it leads.
type channelKind struct {
	name    string
	to      func(l *loader, at item, c *Channel)
	needs   []string // keys without which it does not work
	takes   []string // others that it knows
	answers []string // nil: it carries none; else what it needs to carry some
}

var channelKinds = []channelKind{
	{name: "ntfy", to: (*loader).urlTo, takes: []string{"token"}},
	{name: "webhook", to: (*loader).urlTo, needs: []string{"secret"}},
	{name: "slack", to: (*loader).chatTo, needs: []string{"token"}, takes: []string{"app_token", "api"}, answers: []string{"app_token"}},
	{name: "telegram", to: (*loader).chatTo, needs: []string{"token"}, takes: []string{"api"}, answers: []string{"token"}},
	{name: "mail", to: (*loader).mailTo, needs: []string{"from", "server"}, takes: []string{"user", "password"}},
	{name: "command", to: (*loader).commandTo},
}

// ChannelKinds are the kinds of channels.
func ChannelKinds() (names []string) {
	for _, k := range channelKinds {
		names = append(names, k.name)
	}
	return names
}

// mailAfter is how long mail waits whether anybody answers, where the file does not say.
const mailAfter = 15 * time.Second

const maxChannels = 32

// notify reads the channels, which name each other.
func (l *loader) notify(at item) {
	names := map[string]item{}
	l.members(at, "notify", func(key, v item) {
		if !validID(key.text) {
			l.wrong(key, "", "notify: %q is no name: 1 to 64 letters, digits, _, . and -", key.text)
		}
		names[key.text] = key
		l.p.channels = append(l.p.channels, l.channel(key, v))
	})
	if len(l.p.channels) > maxChannels {
		l.wrong(at, "", "notify has over %d channels", maxChannels)
	}
	for _, c := range l.p.channels {
		if c.Escalate == nil {
			continue
		}
		switch to := c.Escalate.To; {
		case to == c.Name:
			l.wrong(names[c.Name], "name another channel", "notify.%s escalates to itself", c.Name)
		case names[to].line == 0 && to != "":
			l.wrong(names[c.Name], Meant(to, slices.Sorted(maps.Keys(names))), "notify.%s.escalate: there is no channel %q", c.Name, to)
		}
	}
	l.onePersonEach(names)
	slices.SortFunc(l.p.channels, func(a, b Channel) int { return strings.Compare(a.Name, b.Name) })
}

// onePersonEach refuses who would answer as two participants by channels of a kind, and so count
// twice where several must agree. A channel alone has each id once.
func (l *loader) onePersonEach(names map[string]item) {
	type person struct{ kind, id string }
	first := map[person]Channel{}
	for _, c := range l.p.channels {
		for _, id := range slices.Sorted(maps.Keys(c.People)) {
			at := person{c.Kind, id}
			if o, had := first[at]; had && o.People[id] != c.People[id] {
				l.wrong(names[c.Name], "one person is one participant", "notify.%s.people: %s is %s here, and %s at %s (line %d)", c.Name, id, c.People[id], o.People[id], o.Name, o.Line)
			} else if !had {
				first[at] = c
			}
		}
	}
}

// channel reads one channel.
func (l *loader) channel(key, at item) Channel {
	c := Channel{Name: key.text, Line: key.line, For: []string{"local"}, Remind: true, Secrets: map[string]Value{}}
	what := "notify." + c.Name
	var kinds []channelKind
	said, trusts := map[string]item{}, false
	note := func(name string, read func(item)) func(item) {
		return func(v item) {
			said[name] = v
			read(v)
		}
	}
	secret := func(name string) func(item) {
		return note(name, func(v item) { c.Secrets[name] = l.secret(v, what+"."+name) })
	}
	known := map[string]func(item){
		"from":      note("from", func(v item) { c.From = l.mailbox(v, what+".from") }),
		"server":    note("server", func(v item) { c.Server = l.hostPort(v, what+".server") }),
		"user":      note("user", func(v item) { c.User = l.text(v, what+".user") }),
		"api":       note("api", func(v item) { c.API = l.api(v, what+".api") }),
		"token":     secret("token"),
		"app_token": secret("app_token"),
		"secret":    secret("secret"),
		"password":  secret("password"),
		"for":       func(v item) { c.For = l.people(v, what+".for") },
		"after":     func(v item) { c.After = l.duration(v, what+".after", MaxQuestion) },
		"remind":    func(v item) { c.Remind = l.boolean(v, what+".remind") },
		"escalate":  func(v item) { c.Escalate = l.escalate(v, what+".escalate") },
		"trust":     func(v item) { trusts = l.word(v, what+".trust", "answers") != "" },
		"people":    note("people", func(v item) { c.People = l.answering(v, what+".people") }),
	}
	for _, k := range channelKinds {
		known[k.name] = func(v item) {
			kinds, c.Kind = append(kinds, k), k.name
			k.to(l, v, &c)
		}
	}
	if !l.fields(at, what, known) {
		return c
	}
	if len(kinds) != 1 {
		l.wrong(at, "", "%s has exactly one of %s; this one has %d", what, strings.Join(ChannelKinds(), ", "), len(kinds))
		return c
	}
	l.complete(at, what, kinds[0], said, trusts)
	if c.Kind == "mail" && c.After == 0 {
		c.After = mailAfter
	}
	for _, who := range slices.Sorted(maps.Values(c.People)) {
		if !slices.Contains(c.For, who) {
			c.For = append(c.For, who)
		}
	}
	return c
}

// complete refuses what a channel of a kind has no use for, and misses what it needs.
func (l *loader) complete(at item, what string, k channelKind, said map[string]item, trusts bool) {
	for _, name := range slices.Sorted(maps.Keys(said)) {
		if name != "people" && !slices.Contains(k.needs, name) && !slices.Contains(k.takes, name) {
			l.wrong(said[name], "", "%s.%s: %s has no use for it", what, name, k.name)
		}
	}
	needs := k.needs
	people := said["people"].line > 0
	switch {
	case trusts && k.answers == nil:
		l.wrong(at, "let it lead to the page, or to mcpx-bridge approve", "%s.trust: %s carries no answers", what, k.name)
	case trusts && !people:
		l.wrong(at, "write people: {ID THERE: PARTICIPANT}", "%s.people is missing: trust: answers has to say whose answers they are", what)
	case people && !trusts:
		l.wrong(said["people"], "write trust: answers, if whoever runs it may answer in their names", "%s.people: nobody answers by a channel without trust: answers", what)
	case trusts:
		needs = append(slices.Clip(needs), k.answers...)
	}
	for _, name := range slices.Compact(needs) {
		if said[name].line == 0 {
			l.wrong(at, "", "%s.%s is missing: %s does not work without it", what, name, k.name)
		}
	}
	if (said["user"].line > 0) != (said["password"].line > 0) {
		l.wrong(at, "give both, or neither", "%s: user and password go together", what)
	}
}

// answering reads whose answers count, by who they are in the channel.
func (l *loader) answering(at item, what string) map[string]string {
	people := map[string]string{}
	l.members(at, what, func(key, v item) {
		who := l.text(v, what)
		switch {
		case IsDoor(who):
			l.wrong(v, "give them an id of their own, and name that under of:", "%s: %s is whoever sits there, and no channel speaks for them", what, who)
		case l.participant(v, what):
			people[key.text] = who
		}
	})
	return people
}

func (l *loader) escalate(at item, what string) *Escalation {
	e := &Escalation{}
	l.fields(at, what, map[string]func(item){
		"after": func(v item) { e.After = l.duration(v, what+".after", MaxQuestion) },
		"to":    func(v item) { e.To = l.text(v, what+".to") },
	})
	if e.After == 0 || e.To == "" {
		l.wrong(at, "write escalate: {after: 10m, to: NAME}", "%s says after how long, and to which channel", what)
	}
	return e
}

var envName = lazily(`^\$\{([A-Za-z_][A-Za-z0-9_]*)\}$`)

// kept reads where a value is kept, if it is not in the file.
func (l *loader) kept(at item, what string) (Value, bool) {
	text := l.text(at, what)
	if m := envName().FindStringSubmatch(text); m != nil {
		return Value{Env: m[1]}, true
	}
	if path, ok := strings.CutPrefix(text, filePrefix); ok && path != "" {
		return Value{File: path}, true
	}
	return Value{Text: text}, false
}

// secret reads where a secret is kept. What it says instead is not shown.
func (l *loader) secret(at item, what string) Value {
	v, ok := l.kept(at, what)
	if !ok {
		l.wrong(at, "write ${NAME}, a variable of the bridge's environment, or file:PATH", "%s: a secret does not stand in a policy, which others may read", what)
		return Value{}
	}
	return v
}

func (l *loader) urlTo(at item, c *Channel) {
	what := "notify." + c.Name + "." + c.Kind
	c.To = []Value{l.web(at, what)}
	if c.Kind != "ntfy" || c.To[0].Text == "" {
		return
	}
	if _, _, err := NtfyTopic(c.To[0].Text); err != nil {
		l.wrong(at, "write it like https://ntfy.sh/a-name-that-nobody-guesses", "%s %v", what, err)
	}
}

// api reads where the methods of a chat are, if that is not its own place.
func (l *loader) api(at item, what string) string {
	v := l.web(at, what)
	if v.Text == "" {
		l.wrong(at, "write it out", "%s is no secret", what)
	}
	return strings.TrimSuffix(v.Text, "/")
}

// web reads a URL of the web, in clear text on this machine only.
func (l *loader) web(at item, what string) Value {
	v, ok := l.kept(at, what)
	if ok {
		return v
	}
	if err := CheckWeb(v.Text); err != nil {
		l.wrong(at, "", "%s: %v", what, err)
	}
	return v
}

// CheckWeb says what is wrong with a URL that a channel leads to. The error does not show it.
func CheckWeb(at string) error {
	u, err := url.Parse(at)
	switch {
	case err != nil || u.Hostname() == "" || u.Scheme != "https" && u.Scheme != "http":
		return fmt.Errorf("it is no URL that begins with https://")
	case u.User != nil:
		return fmt.Errorf("a name or a password in a URL is shown by programs: leave it out")
	case u.Scheme == "http" && !loopback.Is(u.Hostname()):
		return fmt.Errorf("http:// tells everybody on the way: write https://")
	}
	return nil
}

// ntfyTopic is how names of topics look: ntfy answers 404 to others.
var ntfyTopic = lazily(`^[-_A-Za-z0-9]{1,64}$`)

// NtfyTopic takes the URL of a topic of ntfy apart, into the URL of the server and the name. The
// error goes on after the name of the key, and does not show the URL; one that CheckWeb refuses is no topic's.
func NtfyTopic(at string) (server, topic string, err error) {
	u, err := url.Parse(at)
	if err != nil {
		return "", "", errors.New("is no URL")
	}
	u.Path, topic = path.Split(strings.TrimRight(u.Path, "/"))
	switch {
	case topic == "":
		return "", "", errors.New("names no topic")
	case !ntfyTopic().MatchString(topic), u.RawQuery != "", u.Fragment != "":
		return "", "", errors.New("names no topic that ntfy knows: at most 64 letters, digits, - and _ end the URL")
	}
	return u.String(), topic, nil
}

func (l *loader) chatTo(at item, c *Channel) {
	text := at.text // numbers are ids too, and need no quotes
	if at.form != scalar || strings.Trim(text, idBytes) != "" || text == "" {
		l.wrong(at, "", "notify.%s.%s is the id of a chat or channel, not %s", c.Name, c.Kind, quote(text))
	}
	c.To = []Value{{Text: text}}
}

func (l *loader) mailTo(at item, c *Channel) {
	what := "notify." + c.Name + "." + c.Kind
	l.many(at, what, func(v item) { c.To = append(c.To, Value{Text: l.mailbox(v, what)}) })
}

// mailbox reads one bare address of mail.
func (l *loader) mailbox(at item, what string) string {
	text := l.text(at, what)
	if a, err := mail.ParseAddress(text); err != nil || a.Address != text || strings.ContainsAny(text, "\r\n") {
		l.wrong(at, "", "%s: %q is no address like ann@example.com", what, text)
	}
	return text
}

func (l *loader) hostPort(at item, what string) string {
	text := l.text(at, what)
	host, port, err := net.SplitHostPort(text)
	if n, bad := strconv.ParseUint(port, 10, 16); err != nil || bad != nil || n == 0 || host == "" {
		l.wrong(at, "write it like smtp.example.com:587", "%s: %q is no host with a port", what, text)
	}
	return text
}

func (l *loader) commandTo(at item, c *Channel) {
	c.To = []Value{{Text: l.text(at, "notify."+c.Name+".command")}}
}
