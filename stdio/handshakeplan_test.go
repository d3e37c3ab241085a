package stdio

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// A story is told in words: what happens, and after the arrow what the plan
// wants done about it.
var planStories = map[string]struct {
	plan  eraOrder
	story string
}{
	"answers initialize":                       {legacyFirst, "begin>initialize init:yes>legacy"},
	"refuses initialize, answers discover":     {legacyFirst, "begin>initialize init:no>discover disc:yes>modern"},
	"refuses both":                             {legacyFirst, "begin>initialize init:no>discover disc:no>giveup"},
	"silent, then answers initialize":          {legacyFirst, "begin>initialize silent>discover init:yes>legacy"},
	"silent, then answers discover":            {legacyFirst, "begin>initialize silent>discover disc:yes>modern"},
	"silent, refuses discover, then answers":   {legacyFirst, "begin>initialize silent>discover disc:no>wait init:yes>legacy"},
	"silent, refuses initialize, then answers": {legacyFirst, "begin>initialize silent>discover init:no>wait disc:yes>modern"},
	"silent, then refuses both":                {legacyFirst, "begin>initialize silent>discover init:no>wait disc:no>giveup"},
	"silent twice":                             {legacyFirst, "begin>initialize silent>discover silent>wait"},
	"dies of initialize":                       {legacyFirst, "begin>initialize died>again:modernFirst"},
	"dies of the probe":                        {legacyFirst, "begin>initialize silent>discover died>again:legacyOnly"},
	"refuses initialize, dies of discover":     {legacyFirst, "begin>initialize init:no>discover died>no"},
	"modern: answers discover":                 {modernFirst, "begin>discover disc:yes>modern"},
	"modern: refuses discover":                 {modernFirst, "begin>discover disc:no>initialize init:yes>legacy"},
	"modern: refuses both":                     {modernFirst, "begin>discover disc:no>initialize init:no>giveup"},
	"modern: silent, then initialize":          {modernFirst, "begin>discover silent>initialize init:yes>legacy"},
	"modern: silent, then discover":            {modernFirst, "begin>discover silent>initialize disc:yes>modern"},
	"modern: dies":                             {modernFirst, "begin>discover died>no"},
	"legacy only: silent":                      {legacyOnly, "begin>initialize silent>wait init:yes>legacy"},
	"legacy only: refused":                     {legacyOnly, "begin>initialize init:no>discover disc:yes>modern"},
	"legacy only: dies":                        {legacyOnly, "begin>initialize died>no"},
}

func TestGreetingStories(t *testing.T) {
	said := map[step]string{wait: "wait", sendInitialize: "initialize", sendDiscover: "discover", upLegacy: "legacy", upModern: "modern", giveUp: "giveup"}
	plans := map[eraOrder]string{legacyFirst: "legacyFirst", modernFirst: "modernFirst", legacyOnly: "legacyOnly"}
	for name, s := range planStories {
		g := handshakePlan{plan: s.plan}
		events := map[string]func() string{
			"begin":    func() string { return said[g.begin()] },
			"silent":   func() string { return said[g.silent()] },
			"init:yes": func() string { return said[g.answered(initialize, true)] },
			"init:no":  func() string { return said[g.answered(initialize, false)] },
			"disc:yes": func() string { return said[g.answered(discover, true)] },
			"disc:no":  func() string { return said[g.answered(discover, false)] },
			"died": func() string {
				p, again := g.died()
				if !again {
					return "no"
				}
				return "again:" + plans[p]
			},
		}
		for line := range strings.FieldsSeq(s.story) {
			event, want, _ := strings.Cut(line, ">")
			if got := events[event](); got != want {
				t.Errorf("%s: at %s it says %s, want %s", name, event, got, want)
			}
		}
	}
}

func TestAnswersThatAreNoGreeting(t *testing.T) {
	tests := []struct {
		question     question
		answer, want string
	}{
		{initialize, `"error":{"code":-32601,"message":"no"}`, "initialize was answered with error"},
		{initialize, `"result":null`, "not_an_object"},
		{initialize, `"result":{}`, "without a protocolVersion"},
		{initialize, `"result":{"protocolVersion":7}`, "without a protocolVersion"},
		{initialize, `"result":{"protocolVersion":"a","protocolVersion":"b"}`, "json_duplicate_key"},
		{discover, `"error":{"code":-32022,"message":"no"}`, "server/discover was answered with error"},
		{discover, `"result":{}`, "no revision that we speak"},
		{discover, `"result":{"supportedVersions":["2025-11-25"]}`, "no revision that we speak"},
		{discover, `"result":{"supportedVersions":"2026-07-28"}`, "no revision that we speak"},
	}
	for _, test := range tests {
		m, err := jsonrpc.Parse([]byte(`{"jsonrpc":"2.0","id":1,`+test.answer+`}`), jsonrpc.Passed)
		if err != nil {
			t.Fatal(err)
		}
		if _, why := readHello(&m, test.question, "v"); !strings.Contains(why, test.want) {
			t.Errorf("%s: refused with %q, want %q in it", test.answer, why, test.want)
		}
	}
}

func TestModernServerInfoIsTakenFromResultOrMeta(t *testing.T) {
	for _, at := range []string{`"serverInfo":%s`, `"_meta":{"io.modelcontextprotocol/serverInfo":%s}`} {
		info := `{"name":"x"}`
		text := `{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2027-01-01","2026-07-28"],` + fmt.Sprintf(at, info) + `}}`
		m, err := jsonrpc.Parse([]byte(text), jsonrpc.Passed)
		if err != nil {
			t.Fatal(err)
		}
		h, why := readHello(&m, discover, "v")
		if why != "" || string(h.ServerInfo) != info || h.Revision != jsonrpc.ModernRevision {
			t.Errorf("%s: hello is %+v, refused with %q", text, h, why)
		}
	}
}
