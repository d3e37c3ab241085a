package stdio

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"unicode"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/fold"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/stdiotest"
)

// unclear are questions for a person which some client finds in a line, and which
// came through to it during a stranger's call (FINDINGS P6, P15).
func unclear() map[string]string {
	deep := strings.Repeat("[", 1200) + strings.Repeat("]", 1200)
	halves, unread := strings.Repeat(`\ud83d`, 90), strings.Repeat("\xff", 520) // more than is kept of a name
	const rest = `"id":"q","jsonrpc":"2.0","params":{"message":"PERSON"}`
	return map[string]string{
		"method twice":     `{"method":"ping","method":"elicitation/create",` + rest + `}`,
		"the other first":  `{"method":"elicitation/create","method":"ping",` + rest + `}`,
		"Method":           `{"Method":"elicitation/create",` + rest + `}`,
		"long s":           `{"method":"ping","method":"` + "\u017f" + `ampling/createMessage",` + rest + `}`,
		"dotless i":        `{"method":"el` + "\u0131" + `citation/create",` + rest + `}`,
		"dotted capital":   `{"method":"elici\u0130tation/create","METHOD":"el\u0130citation/create",` + rest + `}`,
		"italic":           `{"method":"\ud835\udc52licitation/create",` + rest + `}`,
		"circled":          `{"method":"` + "\u24e2" + `ampling/createMessage",` + rest + `}`,
		"one is small":     `{"method":"eLICITATION/create",` + rest + `}`,
		"a capital within": `{"method":"saMpling/createmessage",` + rest + `}`,
		"escaped key":      `{"m\u0065thod":"ping","METHOD":"elicit\u0061tion/create",` + rest + `}`,
		"other case":       `{"method":"Elicitation/Create",` + rest + `}`,
		"white space":      `{"method":" elicitation/create\n",` + rest + `}`,
		"NUL":              `{"method":"elicitation/create\u0000x",` + rest + `}`,
		"NUL in the key":   `{"method\u0000x":"elicitation/create",` + rest + `}`,
		"id twice":         `{"method":"sampling/createMessage","id":1,` + rest + `}`,
		"params twice":     `{"method":"sampling\/create\u004dessage","params":{},` + rest + `}`,
		"batch":            `[{"method":"elicitation/create",` + rest + `}]`,
		"byte order mark":  "\ufeff" + `{"method":"elicitation/create",` + rest + `}`,
		"invalid byte":     `{"method":"elicitation/create","x":"` + "\xff" + `",` + rest + `}`,
		"byte in the name": `{"method":"elicit` + "\xff" + `ation/create",` + rest + `}`,
		"too deep":         `{"method":"elicitation/create","x":` + deep + `,` + rest + `}`,
		"a result too":     `{"method":"elicitation/create","result":{},` + rest + `}`,
		"notification":     `{"method":"elicitation/create","jsonrpc":"2.0","params":{"message":"PERSON"}}`,
		"no id but null":   `{"method":"elicitation/create","id":null,"params":{"message":"PERSON"}}`,
		"two in one":       `{"jsonrpc":"2.0","method":"x"}{"method":"elicitation/create",` + rest + `}`,
		"comma at the end": `{"method":"elicitation/create",` + rest + `,}`,
		"comment":          `{/*"*/"method":"elicitation/create",` + rest + `}`,
		"long key":         `{"me` + halves + `thod":"elicitation/create",` + rest + `}`,
		"a long one too":   `{"method":"ping","` + halves + `method":"sampling/createMessage",` + rest + `}`,
		"bytes in the key": `{"m` + unread + `ethod":"elicitation/create",` + rest + `}`,
		"long method":      `{"method":"elici` + halves + `tation/create",` + rest + `}`,
		"bytes within":     `{"method":"` + unread + `sampling/createMessage",` + rest + `}`,
		"long in pieces":   `{"x":"` + strings.Repeat("x", 700<<10) + `","me` + halves + `thod":"elicitation/create",` + rest + `}`,
		"long in another":  `{"x":"` + strings.Repeat("x", 700<<10) + `","method":"elici` + halves + `tation/create",` + rest + `}`,
		"over-long":        `{"method":"elicitation/create","x":"` + strings.Repeat("x", 700<<10) + `",` + rest + `}`,
		"long and behind":  `{"x":"` + strings.Repeat("\\\"", 350<<10) + `","m\u0065thod":"elicitation/create",` + rest + `}`,
	}
}

// raw has the server write something, the bytes of which are encoded.
const raw = `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"raw","arguments":{"b64":%q}}}`

func encoded(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

func TestNoUnclearQuestionReachesThePersonDuringAStrangersCall(t *testing.T) {
	c := host(t, stdiotest.Command(t, stdiotest.Script{}), func(o *Options) { o.MaxLine = 256 << 10 })
	c.greets()
	c.up()
	c.occupied.Store(true)
	for name, line := range unclear() {
		c.say(fmt.Sprintf(raw, encoded(line+"\nEND\n")) + "\n")
		for {
			got, err := c.lines.ReadString('\n')
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if got == "END\n" {
				break
			}
			if strings.Contains(got, "PERSON") {
				t.Errorf("%s: the client heard %.200q", name, got)
			}
		}
		if n := c.next("noise").noise; n.Reason != questionRefused {
			t.Errorf("%s: noise is %+v", name, n)
		}
	}
}

// One rule of which names are one for all that is refused by its name.
func TestEveryCharacterThatFoldsToALetterIsFoundInAMethod(t *testing.T) {
	for r := rune(0x80); r <= unicode.MaxRune; r++ {
		folded := fold.Name(string(r))
		if plain := strings.Trim(folded, "abcdefghijklmnopqrstuvwxyz") == ""; plain && letters([]byte(string(r))) != folded {
			t.Errorf("%U is %q to one and %q to the other", r, folded, letters([]byte(string(r))))
		}
		if r >= lastWide && strings.ContainsAny(folded, "abcdefghijklmnopqrstuvwxyz") {
			t.Errorf("%U folds to %q", r, folded)
		}
	}
}

func TestAnswersPassDuringAStrangersCallWhateverTheyMention(t *testing.T) {
	c := host(t, stdiotest.Command(t, stdiotest.Script{}), func(o *Options) { o.MaxLine = 256 << 10 })
	c.greets()
	c.up()
	c.occupied.Store(true)
	deep := strings.Repeat("[", 1200) + strings.Repeat("]", 1200)
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{"text":"elicitation/create","method":"elicitation/create"}}`,
		`{"jsonrpc":"2.0","result":{"text":"sampling"},"result":{},"id":1}`,
		`{"jsonrpc":"2.0","result":{"text":"elicit\u0061tion"},"x":` + deep + `,"id":1}`,
		"{\"jsonrpc\":\"2.0\",\"result\":{\"text\":\"sampling \xff\\ud83d\"},\"id\":1}",
		`{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":"1"}}`,
		`{"jsonrpc":"2.0","id":2,"method":"roots/list","params":{"x":"elicitation/create"}}`,
		`{"jsonrpc":"2.0","id":1,"result":"sampling ` + strings.Repeat("x", 700<<10) + `"}`,
	} {
		c.say(fmt.Sprintf(raw, encoded(line+"\n")) + "\n")
		c.hears(line)
	}
}

// An answer to us over the limit with the id behind it was waited for in vain.
func TestAnOverlongAnswerToUsIsKnownByAnIDAtItsEnd(t *testing.T) {
	c := host(t, stdiotest.Command(t, stdiotest.Script{}), func(o *Options) { o.MaxLine = 256 << 10 })
	c.greets()
	c.up()
	c.put(`{"jsonrpc":"2.0","id":"` + mark + `3","method":"tools/call","params":{"name":"raw","arguments":{"text":` +
		quoted(t, `{"result":"`+strings.Repeat("x", 700<<10)+`","jsonrpc":"2.0","id":$ID}`+"\n") + `}}}`)
	go c.lines.ReadString('\n')
	if got := c.next("noise").noise; string(got.ID) != `"`+mark+`3"` || !got.Answer {
		t.Errorf("noise is %+v", got)
	}
}

// What a server of 2026-07-28 tells us because we listen is not for its client.
func TestWhatWeListenToIsNotForTheHost(t *testing.T) {
	c := host(t, stdiotest.Command(t, stdiotest.Script{}), nil)
	c.greets()
	c.up()
	for id, mine := range map[string]bool{`"` + mark + `9"`: true, `7`: false, `"` + mark[1:] + `"`: false} {
		line := `{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":` + id + `}}}`
		c.say(fmt.Sprintf(raw, encoded(line+"\nEND\n")) + "\n")
		if !mine {
			c.hears(line)
		}
		c.hears("END")
		if got := c.next("message").text; got != line {
			t.Errorf("ours: %s", got)
		}
	}
}

// Beside a client nobody was told that what is read differs from what was written.
func TestBytesThatAreReplacedBesideAClientAreToldOnce(t *testing.T) {
	c := host(t, stdiotest.Command(t, stdiotest.Script{}), nil)
	c.greets()
	c.up()
	line := `{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"` + "\xff" + `"}}`
	for range 2 {
		c.say(fmt.Sprintf(raw, encoded(line+"\nEND\n")) + "\n")
		c.hears(line)
		c.hears("END")
	}
	if n := c.next("noise").noise; n.Reason != "invalid_utf8" {
		t.Errorf("noise is %+v", n)
	}
	for range 2 {
		if got := c.next("message").text; strings.Contains(got, "\xff") {
			t.Errorf("we heard %q", got)
		}
	}
	c.say(fmt.Sprintf(raw, encoded(`{"jsonrpc":"2.0","id":"`+mark+`9",`+"\n")) + "\n")
	if n := c.next("noise").noise; n.Reason == "invalid_utf8" {
		t.Errorf("it is told twice: %+v", n)
	}
}
