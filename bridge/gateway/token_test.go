package gateway_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/gateway"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// sign makes a token by hand.
func sign(t *testing.T, method jwt.SigningMethod, key any, claims jwt.MapClaims) string {
	t.Helper()
	token, err := jwt.NewWithClaims(method, claims).SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func TestTokens(t *testing.T) {
	h := open(t, gateway.Options{})
	soon, past := time.Now().Add(time.Hour).Unix(), time.Now().Add(-time.Minute).Unix()
	claims := func(more jwt.MapClaims) jwt.MapClaims {
		c := jwt.MapClaims{"participantId": "ann", "topic": "t", "exp": soon}
		maps.Copy(c, more)
		return c
	}
	noExp := claims(nil)
	delete(noExp, "exp")
	for _, c := range []struct {
		name, token string
		status      int
	}{
		{"good", sign(t, jwt.SigningMethodHS256, secret, claims(nil)), 101},
		{"for every topic", sign(t, jwt.SigningMethodHS256, secret, claims(jwt.MapClaims{"topic": "*"})), 101},
		{"alg none", sign(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, claims(nil)), 401},
		{"HS384", sign(t, jwt.SigningMethodHS384, secret, claims(nil)), 401},
		{"HS512", sign(t, jwt.SigningMethodHS512, secret, claims(nil)), 401},
		{"another secret", sign(t, jwt.SigningMethodHS256, []byte("another secret, as long as the first"), claims(nil)), 401},
		{"the reference gateway's development secret", sign(t, jwt.SigningMethodHS256, []byte("dev-secret-change-in-production"), claims(nil)), 401},
		{"expired", sign(t, jwt.SigningMethodHS256, secret, claims(jwt.MapClaims{"exp": past})), 401},
		{"without exp", sign(t, jwt.SigningMethodHS256, secret, noExp), 401},
		{"not valid yet", sign(t, jwt.SigningMethodHS256, secret, claims(jwt.MapClaims{"nbf": soon})), 401},
		{"another topic", sign(t, jwt.SigningMethodHS256, secret, claims(jwt.MapClaims{"topic": "u"})), 403},
		{"a topic that begins alike", sign(t, jwt.SigningMethodHS256, secret, claims(jwt.MapClaims{"topic": "t2"})), 403},
		{"no topic", sign(t, jwt.SigningMethodHS256, secret, claims(jwt.MapClaims{"topic": ""})), 401},
		{"the gateway's own id", sign(t, jwt.SigningMethodHS256, secret, claims(jwt.MapClaims{"participantId": "system"})), 401},
		{"an id like the gateway's", sign(t, jwt.SigningMethodHS256, secret, claims(jwt.MapClaims{"participantId": "system.x"})), 401},
		{"an id with a colon", sign(t, jwt.SigningMethodHS256, secret, claims(jwt.MapClaims{"participantId": "a:b"})), 401},
		{"no id", sign(t, jwt.SigningMethodHS256, secret, claims(jwt.MapClaims{"participantId": ""})), 401},
		{"capabilities that are none", sign(t, jwt.SigningMethodHS256, secret, claims(jwt.MapClaims{"capabilities": "all"})), 401},
		{"half a token", sign(t, jwt.SigningMethodHS256, secret, claims(nil))[:60], 401},
		{"empty", "", 401},
	} {
		t.Run(c.name, func(t *testing.T) {
			if status := h.tryDial("/ws?topic=t", c.token); status != c.status {
				t.Errorf("status %d, want %d", status, c.status)
			}
			if c.status != 101 {
				if status, _ := h.get("GET", "/v0.1/topics/t/participants", c.token, nil, ""); status != c.status {
					t.Errorf("REST: status %d, want %d", status, c.status)
				}
			}
			if len(c.token) > 20 && strings.Contains(h.log.String(), c.token) {
				t.Error("the token is in the log")
			}
		})
	}
}

// What a refusal says, by each way in. Of a token that was not made here nothing is said but
// that, whatever it claims: its bearer hears no more than it can read in the token itself.
func TestARefusalSaysWhatIsTheMatterWithTheToken(t *testing.T) {
	h := open(t, gateway.Options{})
	soon, past := time.Now().Add(time.Hour).Unix(), time.Now().Add(-time.Minute).Unix()
	token := func(key []byte, topic string, exp int64) string {
		return sign(t, jwt.SigningMethodHS256, key, jwt.MapClaims{"participantId": "ann", "topic": topic, "exp": exp})
	}
	foreign := []byte("another secret, as long as the first")
	for _, c := range []struct {
		name, token string
		status      int
		said, mew   string
	}{
		{"none", "", 401, "no token: send Authorization: Bearer TOKEN", "Authorization required: a token in the join or the Authorization header"},
		{"expired", token(secret, "t", past), 401, "the token is not valid: it has expired", "Invalid token: it has expired"},
		{"of another topic", token(secret, "u", soon), 403, "the token is for topic u, not t", "Token not valid for this topic"},
		{"expired, of another topic", token(secret, "u", past), 401, "the token is not valid: it has expired", "Invalid token: it has expired"},
		{"of another key", token(foreign, "t", soon), 401, "the token is not valid: it was not made here", "Invalid token: it was not made here"},
		{"of another key, expired, of another topic", token(foreign, "u", past), 401, "the token is not valid: it was not made here", "Invalid token: it was not made here"},
		{"no token at all", "x.y.z", 401, "the token is not valid", "Invalid token"},
	} {
		header := http.Header{}
		if c.token != "" {
			header.Set("Authorization", "Bearer "+c.token)
		}
		want := `{"error":"` + c.said + `"}`
		for _, path := range []string{"/v0/ws?topic=t", "/ws?topic=t", "/?space=t"} {
			if c.token == "" && path == "/?space=t" {
				continue // it may come in the join
			}
			if status, body := h.get("GET", path, "", header, ""); status != c.status || strings.TrimSpace(body) != want {
				t.Errorf("%s at %s: %d %s, want %d %s", c.name, path, status, body, c.status, want)
			}
		}
		g := h.dial("/?space=t", nil)
		g.send(`{"type":"join","participantId":"ann","space":"t","token":"` + c.token + `"}`)
		if end := g.closed(); end.Code != 1008 || end.Text != c.mew {
			t.Errorf("%s in a join: %d %q, want 1008 %q", c.name, end.Code, end.Text, c.mew)
		}
	}
}

func TestMintRefusesWhatNobodyCouldUse(t *testing.T) {
	h := open(t, gateway.Options{})
	for _, c := range []gateway.Claims{
		{ID: "", Topic: "t"},
		{ID: "system:gateway", Topic: "t"},
		{ID: "a b", Topic: "t"},
		{ID: "a", Topic: ""},
		{ID: "a", Topic: "t/u"},
		{ID: "a", Topic: strings.Repeat("t", 129)},
		{ID: "a", Topic: "t", Capabilities: json.RawMessage(`"chat"`)},
		{ID: "a", Topic: "t", Capabilities: json.RawMessage(`[1]`)},
	} {
		if token, err := h.Mint(c); err == nil {
			t.Errorf("%+v: %s", c, token)
		}
	}
}

func TestSecretMustKeepSomebodyOut(t *testing.T) {
	for _, secret := range []string{"", "secret", strings.Repeat("x", 31)} {
		if _, err := gateway.New(gateway.Options{Secret: []byte(secret)}); err == nil {
			t.Errorf("a secret of %d bytes was taken", len(secret))
		}
	}
}

func TestHostAndOrigin(t *testing.T) {
	h := open(t, gateway.Options{Hosts: []string{"gw.example", "192.0.2.7"}})
	for _, c := range []struct {
		host, origin string
		status       int
	}{
		{"localhost", "", 200},
		{"LOCALHOST:1", "", 200},
		{"127.0.0.1:7420", "http://localhost:3000", 200},
		{"127.8.9.1", "http://[::1]", 200},
		{"[::1]:7420", "", 200},
		{"gw.example", "https://GW.example", 200},
		{"192.0.2.7:80", "", 200},
		{"gw.example.", "", 200},
		{"evil.test", "", 421},
		{"evil.test:7420", "http://evil.test:7420", 421},
		{"127.0.0.1.evil.test", "", 421},
		{"localhost.evil.test", "", 421},
		{"gw.example.evil.test", "", 421},
		{"xgw.example", "", 421},
		{"0.0.0.0", "", 421},
		{"2130706433", "", 421},
		{"localhost", "http://evil.test", 403},
		{"localhost", "null", 403},
		{"localhost", "http://localhost.evil.test", 403},
		{"localhost", "http://evil.test/localhost", 403},
		{"localhost", "http://localhost@evil.test", 403},
		{"localhost", "://", 403},
	} {
		header := http.Header{"Host": {c.host}}
		if c.origin != "" {
			header["Origin"] = []string{c.origin}
		}
		for _, path := range []string{"/health", "/metrics"} {
			if status, _ := h.get("GET", path, "", header, ""); status != c.status {
				t.Errorf("%s of %q from %q: %d, want %d", path, c.host, c.origin, status, c.status)
			}
		}
	}
	if status, _ := h.get("GET", "/health", "", http.Header{"Origin": {"http://localhost", "http://evil.test"}}, ""); status != 403 {
		t.Errorf("two origins: %d", status)
	}
}

// The form in which the client speaks first: its token is verified, wherever
// it comes from, and nothing else gives anybody a seat.
func TestMewJoin(t *testing.T) {
	h := open(t, gateway.Options{})
	token := h.mint("ann", "t")
	bearer := http.Header{"Authorization": {"Bearer " + token}}
	universal := string(wire.AppendJoin(nil, "ann", "t", token))
	join := func(protocol, id, space, token string) string {
		return `{"protocol":"` + protocol + `","type":"join","participantId":"` + id + `","space":"` + space + `","token":"` + token + `"}`
	}
	for _, c := range []struct {
		name, path string
		header     http.Header
		frame      string
		protocol   string // of the welcome; "" for a refusal
	}{
		{"universal", "/?space=t", nil, universal, "mew/v0.4"},
		{"universal, topic in the address", "/?topic=t", nil, universal, "mew/v0.4"},
		{"no address at all", "/", nil, universal, "mew/v0.4"},
		{"meup", "/?space=t", nil, join("meup/v0.2", "ann", "t", token), "meup/v0.2"},
		{"mew 0.3", "/?space=t", nil, join("mew/v0.3", "ann", "", token), "mew/v0.3"},
		{"token in the header", "/?space=t", bearer, join("mew/v0.4", "ann", "t", ""), "mew/v0.4"},
		{"the token's own topic and id", "/", nil, join("mew/v0.4", "", "", token), "mew/v0.4"},
		{"no token", "/?space=t", nil, join("mew/v0.4", "ann", "t", ""), ""},
		{"a stranger's token", "/?space=t", nil, join("mew/v0.4", "ann", "t", "bogus"), ""},
		{"a stranger's token beside a good header", "/?space=t", bearer, join("mew/v0.4", "ann", "t", "bogus"), ""},
		{"somebody else's id", "/?space=t", nil, join("mew/v0.4", "bob", "t", token), ""},
		{"another space", "/", nil, join("mew/v0.4", "ann", "u", token), ""},
		{"two spaces", "/?space=t", nil, join("mew/v0.4", "ann", "u", h.mint("ann", "*")), ""},
		{"no space", "/", nil, join("mew/v0.4", "ann", "", h.mint("ann", "*")), ""},
		{"another family", "/?space=t", nil, join("mcpx/v0.1", "ann", "t", token), ""},
		{"no join", "/?space=t", bearer, say("mew/v0.4", "1", "ann", "", "chat", `{"text":"hi"}`), ""},
		{"no JSON", "/?space=t", bearer, `{`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := h.dial(c.path, c.header)
			g.send(c.frame)
			if c.protocol != "" {
				if got := g.read(); !strings.Contains(got, `"system/welcome"`) || !strings.HasPrefix(got, `{"protocol":"`+c.protocol+`"`) {
					t.Errorf("got %s", got)
				}
				return
			}
			if got := g.read(); !strings.Contains(got, `"system/error"`) {
				t.Errorf("got %s", got)
			}
			if end := g.closed(); end.Code != 1008 || end.Text == "" {
				t.Errorf("closed with %v", end)
			}
			if strings.Contains(h.log.String(), token) {
				t.Error("the token is in the log")
			}
		})
	}
	stranger := h.dial("/?space=t", nil)
	stranger.send(strings.Repeat("x", 64<<10+1)) // nobody knows who this is
	if end := stranger.closed(); end.Code != 1009 {
		t.Errorf("a first frame over 64 KiB: %v", end)
	}
	for path, status := range map[string]int{
		"/?space=t&token=" + token: 401,
		"/?space=t&topic=u":        400,
		"/?space=t/u":              400,
		"/?space=u":                403,
	} {
		if got := h.tryDial(path, token); got != status {
			t.Errorf("%s: %d, want %d", path[:10], got, status)
		}
	}
}

func TestREST(t *testing.T) {
	h := open(t, gateway.Options{})
	ann := h.join("mcp-x/v0", "ann")
	h.join("mew/v0.4", "bob", `["chat"]`)
	token, all := h.mint("ann", "t"), h.mint("root", "*")
	h.dial("/ws?topic=u", http.Header{"Authorization": {"Bearer " + all}}).until(`"root"`) // who is welcomed is in the topic
	ann.until(`"bob"`)
	for _, c := range []struct {
		method, path, token string
		status              int
		body                string
	}{
		{"GET", "/v0/topics", token, 200, `{"topics":["t"]}`},
		{"GET", "/v0.1/topics", "", 401, `{"error":"no token: send Authorization: Bearer TOKEN"}`},
		{"GET", "/v0/topics/t/participants", token, 200, `{"participants":[{"id":"ann","name":"ann"},{"id":"bob","name":"bob"}]}`},
		{"GET", "/v0.1/topics/t/participants", token, 200, `{"participants":[{"id":"ann","capabilities":["mcp/*","chat","mcpx.*","mcp.*","proposal*"]},{"id":"bob","capabilities":["chat"]}]}`},
		{"GET", "/v0.1/topics/u/participants", token, 403, `{"error":"the token is for topic t, not u"}`},
		{"GET", "/v0.1/topics/nowhere/participants", all, 200, `{"participants":[]}`},
		{"GET", "/participants?space=t", token, 200, `"connected":true`},
		{"GET", "/participants?space=u", token, 403, ``},
		{"GET", "/v0.1/topics/t/rate-limit", token, 404, ``},
		{"POST", "/v0.1/auth/token", "", 404, `hands out no tokens`},
		{"GET", "/v0.1/topics/t/history?limit=0", token, 400, ``},
		{"GET", "/v0.1/topics/t/history?limit=1001", token, 400, ``},
		{"GET", "/v0.1/topics/t/history?limit=x", token, 400, ``},
		{"GET", "/v0/topics/t/history", token, 200, `{"history":[]}`},
		{"GET", "/v0.1/topics/nowhere/history", all, 200, `{"history":[]}`},
		{"GET", "/health", "", 200, `"protocol":"mcpx/v0.1","server":"mcpx-bridge","status":"healthy"`},
		{"GET", "/metrics", "", 200, "\nmcpx_gateway_topics 2\n"},
		{"GET", "/v0.1/topics/t/history?token=" + token, "", 401, ``},
		{"GET", "/v0.1/topics/t/history?access_token=" + token, token, 401, `in the address`},
		{"DELETE", "/v0/topics", token, 404, ``},
	} {
		status, body := h.get(c.method, c.path, c.token, nil, "")
		if status != c.status || !strings.Contains(strings.TrimSpace(body), c.body) {
			t.Errorf("%s %s: %d %s, want %d %s", c.method, c.path[:min(len(c.path), 40)], status, body, c.status, c.body)
		}
	}
}

func TestOpenTokens(t *testing.T) {
	h := open(t, gateway.Options{OpenTokens: true})
	for _, c := range []struct {
		prefix, ask string
		status      int
		caps        string
	}{
		{"/v0", `{"participantId":"ann","topic":"t"}`, 200, ``},
		{"/v0.1", `{"participantId":"ann","topic":"t"}`, 200, `["mcp/*","chat","mcpx.*","mcp.*","proposal*"]`},
		{"/v0.1", `{"participantId":"ann","topic":"t","capabilities":["chat"]}`, 200, `["chat"]`},
		{"/v0.1", `{"participantId":"ann"}`, 400, ``},
		{"/v0.1", `{"topic":"t"}`, 400, ``},
		{"/v0.1", `{"participantId":"system","topic":"t"}`, 400, ``},
		{"/v0.1", `[`, 400, ``},
		{"/v0.1", `{"participantId":"ann","topic":"` + strings.Repeat("x", 70<<10) + `"}`, 400, ``},
	} {
		status, body := h.get("POST", c.prefix+"/auth/token", "", http.Header{"Host": {"localhost"}}, c.ask)
		if status != c.status {
			t.Errorf("%.60s: %d %s", c.ask, status, body)
		}
		if status != 200 {
			continue
		}
		var got struct {
			Token        string
			Capabilities json.RawMessage
		}
		if err := json.Unmarshal([]byte(body), &got); err != nil || string(got.Capabilities) != c.caps {
			t.Errorf("%s: %v %s", c.ask, err, body)
		}
		if status := h.tryDial("/ws?topic=t", got.Token); status != 101 {
			t.Errorf("the token does not open the door: %d", status)
		}
	}
	if status, _ := h.get("POST", "/v0/auth/token", "", http.Header{"Host": {"localhost"}, "Origin": {"http://evil.test"}}, `{"participantId":"ann","topic":"t"}`); status != 403 {
		t.Errorf("a foreign page got %d", status)
	}
}
