package gateway_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/gateway"
)

// A header is as short as can be for each length, as RFC 6455 5.2 has it and some readers insist;
// readFrame holds it to that.
func TestAHeaderIsNoLongerThanItsLengthNeeds(t *testing.T) {
	h := open(t, gateway.Options{})
	conn, r := h.rawJoin("bob")
	for _, n := range []int{0, 1, 124, 125} {
		conn.Write([]byte(masked(0x89, strings.Repeat("p", n))))
		for {
			op, payload, err := readFrame(r)
			if err != nil {
				t.Fatal(err)
			}
			if op == 0x8a {
				if len(payload) != n {
					t.Errorf("a pong of %d bytes, want %d", len(payload), n)
				}
				break
			}
		}
	}
	ann := h.join("mcpx/v0.1", "ann")
	bare := len(say("mcpx/v0.1", "e", "ann", "", "chat", `{"text":""}`))
	for _, n := range []int{bare, 200, 65534, 65535, 65536, 65537} {
		frame := say("mcpx/v0.1", "e", "ann", "", "chat", `{"text":"`+strings.Repeat("x", n-bare)+`"}`)
		ann.send(frame)
		for {
			_, payload, err := readFrame(r)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(payload), `"kind":"chat"`) {
				if string(payload) != frame {
					t.Errorf("of %d bytes arrive %d", n, len(payload))
				}
				break
			}
		}
	}
}

// How a token is shown: every spelling of the scheme, and nothing beside it.
func TestEverySpellingOfABearer(t *testing.T) {
	h := open(t, gateway.Options{})
	token := h.mint("ann", "t")
	for header, status := range map[string]int{
		"Bearer " + token: 200, "bearer " + token: 200, "BEARER " + token: 200, "Bearer  " + token: 200,
		token: 401, "Bearer": 401, "Bearer ": 401, "Bearer" + token: 401, "Bearer\t" + token: 401, "Basic " + token: 401, "Token " + token: 401, "Bearer: " + token: 401, "": 401,
		"Bearer " + token + " " + token: 401, "Bearer " + token + ",Bearer " + token: 401, `Bearer "` + token + `"`: 401, "Bearer token=" + token: 401,
	} {
		if got, body := h.get("GET", "/v0.1/topics/t/participants", "", http.Header{"Authorization": {header}}, ""); got != status {
			t.Errorf("%.12q…: %d %s, want %d", header, got, body, status)
		}
	}
	for _, name := range []string{"token", "access_token"} {
		for _, path := range []string{"/v0.1/topics/t/participants?", "/v0/topics/t/participants?", "/participants?space=t&", "/ws?topic=t&", "/v0/ws?topic=t&", "/?space=t&"} {
			for _, value := range []string{token, "", "x"} { // whatever it says: some log keeps it
				if got, body := h.get("GET", path+name+"="+url.QueryEscape(value), token, nil, ""); got != 401 {
					t.Errorf("%s%s=%.4s: %d %s", path, name, value, got, body)
				}
			}
		}
	}
}

// How much of the past is asked for, at both ends of the bound.
func TestHowMuchOfThePastIsAskedFor(t *testing.T) {
	h := open(t, gateway.Options{})
	token := h.mint("ann", "t")
	for limit, status := range map[string]int{"1": 200, "2": 200, "999": 200, "1000": 200, "0": 400, "-1": 400, "1001": 400, "1e2": 400, "1.0": 400, "0x10": 400, "": 400, " 1": 400, "99999999999999999999": 400} {
		for _, prefix := range []string{"/v0", "/v0.1"} {
			if got, body := h.get("GET", prefix+"/topics/t/history?limit="+url.QueryEscape(limit), token, nil, ""); got != status {
				t.Errorf("limit=%s: %d %s, want %d", limit, got, body, status)
			}
		}
	}
}

// The first frame of who has shown no token has 64 KiB at most.
func TestHowLongAFirstFrameMayBe(t *testing.T) {
	h := open(t, gateway.Options{})
	for n, seated := range map[int]bool{64<<10 - 1: true, 64 << 10: true, 64<<10 + 1: false} {
		g := h.dial("/?space=t", nil)
		id := fmt.Sprint("ann", n)
		join := `{"protocol":"mew/v0.4","kind":"system/join","id":"j","payload":{"participantId":"` + id + `","space":"t","token":"` + h.mint(id, "t") + `"}}`
		g.send(join + strings.Repeat(" ", n-len(join)))
		if !seated {
			if end := g.closed(); end.Code != 1009 {
				t.Errorf("of %d bytes: %v", n, end)
			}
			continue
		}
		g.until(`"system/welcome"`)
	}
}

// A secret has 32 bytes at least.
func TestHowLongASecretIs(t *testing.T) {
	for n, fits := range map[int]bool{0: false, 31: false, 32: true, 33: true} {
		g, err := gateway.New(gateway.Options{Secret: make([]byte, n)})
		if (err == nil) != fits {
			t.Errorf("%d bytes: %v", n, err)
		}
		if g != nil {
			g.Close()
		}
	}
}
