package topic

import (
	"encoding/base64"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/gateway"
)

// A refused token: its bearer reads which failure it was, in every dialect, and nobody is
// told of another try that there will not be.
func TestEachFailureOfATokenSaysWhichItWas(t *testing.T) {
	g, url := ours(t)
	other, err := gateway.New(gateway.Options{Secret: []byte(strings.Repeat("x", 32))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(other.Close)
	mint := func(g *gateway.Gateway, topic string, good time.Duration) string {
		text, err := g.Mint(gateway.Claims{ID: "carol", Topic: topic, Expires: time.Now().Add(good)})
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	for _, c := range []struct{ name, token, id, want, hint string }{
		{"none", "", "carol", "no token was given", "--token-file FILE; "},
		{"expired", mint(g, "t1", -time.Hour), "carol", "the token ran out at ", "mcpx-bridge token --id carol --topic t1 --out FILE; you keep your seat if --token-file"},
		{"another topic", mint(g, "lobby", time.Hour), "carol", "the token is for topic lobby, not t1", "--topic lobby joins that one; "},
		{"another key", mint(other, "t1", time.Hour), "carol", "the gateway does not take the token: it was not made here", "get another from where the gateway runs: "},
		{"no JWT", "secret", "carol", "the gateway does not take the token: ", "get another from where the gateway runs: mcpx-bridge token --id ID "},
	} {
		for _, dialect := range []string{"mcp-x/v0", "mcpx/v0.1", "mew/v0.4"} {
			t.Run(c.name+" in "+dialect, func(t *testing.T) {
				var log strings.Builder
				f := sit(t, Options{URL: url, ID: c.id, Dialect: dialect, Token: token(c.token), Log: slog.New(slog.NewTextHandler(&log, nil))}).fatal(4)
				if !strings.HasPrefix(f.Error(), c.want) || !strings.Contains(f.Hint, c.hint) {
					t.Errorf("%s, hint %s; want %s, hint %s", f, f.Hint, c.want, c.hint)
				}
				if log.Len() > 0 || c.token != "" && strings.Contains(f.Error(), c.token) {
					t.Errorf("%s, after: %s", f, &log)
				}
			})
		}
	}
	t.Run("another id", func(t *testing.T) {
		f := sit(t, Options{URL: url, ID: "robert", Dialect: "mew/v0.4", Token: token(mint(g, "t1", time.Hour))}).fatal(4)
		if f.Error() != "the token is for carol, not robert" || !strings.HasPrefix(f.Hint, "--id carol, or no --id") {
			t.Errorf("%s, hint %s", f, f.Hint)
		}
	})
	t.Run("the words of a foreign gateway, in JSON or not", func(t *testing.T) {
		for body, want := range map[string]string{
			`{"error":"go\u001b[2J away"}`: `the gateway does not take the token: go\u{1b}[2J away`, "plain words\nmore": "the gateway does not take the token: plain words",
			`{"error":{"code":1}}`: `the gateway does not take the token: {"error":{"code":1}}`,
		} {
			at := &script{rest: map[string]http.HandlerFunc{"/in": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(401); reply(w, body) }}}
			if f := sit(t, Options{URL: at.real(t) + "/in", Token: token("x")}).fatal(4); f.Error() != want {
				t.Errorf("%s: %q, want %q", body, f, want)
			}
		}
	})
}

func TestWhatATokenSaysOfItself(t *testing.T) {
	for body, want := range map[string]Claims{
		`{"participantId":"carol","topic":"lobby","exp":1}`: {"carol", "lobby", time.Unix(1, 0)},
		`{"participantId":"carol","topic":"*"}`:             {ID: "carol", Topic: "*"},
		`{"participantId":"a b","topic":"a; rm","exp":-1}`:  {},
		`{"participantId":"system","topic":"","exp":0}`:     {},
		`{"participantId":1,"topic":[]}`:                    {},
		`{"exp":"1"}`:                                       {},
		`[]`:                                                {},
	} {
		if got := ReadClaims("x." + base64.RawURLEncoding.EncodeToString([]byte(body)) + ".y"); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %v, want %v", body, got, want)
		}
	}
	for _, token := range []string{"", "x", "x.y", "x.!.y", "x.e30.y.z"} {
		if got := ReadClaims(token); got != (Claims{}) {
			t.Errorf("%q: %v", token, got)
		}
	}
}

func TestUntilWhenATokenSaysItIsGood(t *testing.T) {
	for exp, said := range map[string]bool{"-1": false, "0": false, "1": true, "1099511627776": true, "1099511627777": false, `"1"`: false, "null": false} {
		if until := ReadClaims("x." + base64.RawURLEncoding.EncodeToString([]byte(`{"exp":`+exp+`}`)) + ".y").Until; until.IsZero() == said {
			t.Errorf("exp %s: %v", exp, until)
		}
	}
}
