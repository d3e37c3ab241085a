package main

import (
	"fmt"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/quota"
	realgateway "github.com/mcpx-protocol/mcpx-bridge/bridge/gateway"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// Somebody who joins and leaves again and again wrote as many lines on the stderr of serve,
// which clients keep in a file.
func TestComingAndGoingFilledTheLogOfServe(t *testing.T) {
	t.Parallel()
	for _, flags := range [][]string{nil, {"--json"}} {
		alice, sit := serveAmongGuests(t, flags...)
		for range 300 {
			sit("rover").Close(1000, "")
		}
		last := sit("last")
		for late := time.Now().Add(patience); !strings.Contains(alice.said.text(), "last"); alice.said.wait(100 * time.Millisecond) {
			if time.Now().After(late) {
				t.Fatalf("the last one's coming is not told: %s", alice.said.text())
			}
		}
		alice.close()
		last.Close(1000, "")
		said := alice.said.text()
		sum := regexp.MustCompile(`(\d+) more lines about rover are not listed one by one: rover (?:is here|joined|left)`)
		if flags != nil {
			sum = regexp.MustCompile(`"event":"peer","id":"rover","state":"(?:here|joined|left)","count":(\d+)`)
		}
		sums := sum.FindAllStringSubmatch(said, -1)
		listed := len(regexp.MustCompile(`(?m)^.*\brover\b`).FindAllString(said, -1)) - len(sums)
		told := listed
		for _, s := range sums {
			n, _ := strconv.Atoi(s[1])
			told += n
		}
		if listed > 2*quota.Log.Burst { // one more each ten seconds, however long that takes here
			t.Errorf("%q: %d lines about one who comes and goes", flags, listed)
		}
		if len(sums) == 0 || !strings.Contains(sums[len(sums)-1][0], "left") || told != 600 {
			t.Errorf("%q: %d of 600 are listed or summed up: %.2000s", flags, told, said[max(0, len(said)-2000):])
		}
	}
}

// Whoever puts the same question again and again keeps one place, and wrote two lines with each.
func TestAQuestionThatIsPutAgainAndAgainFilledTheLogOfServe(t *testing.T) {
	t.Parallel()
	const times = 100
	for _, flags := range [][]string{nil, {"--json"}} {
		alice, sit := serveAmongGuests(t, flags...)
		fs := sit("fs")
		asks := func(id, method, params string) {
			frame := fmt.Sprintf(`{"protocol":"mcpx/v0.1","id":"%s","ts":"2026-01-01T00:00:00Z","from":"fs","to":["alice"],"kind":"mcp/request:%s","payload":{"jsonrpc":"2.0","id":"%[1]s","method":"%[2]s","params":%s}}`, id, method, params)
			if err := fs.Put([]byte(frame)); err != nil {
				t.Fatal(err)
			}
			fs.Flush()
		}
		for n := range times {
			asks(fmt.Sprint("q", n), "elicitation/create", `{"message":"m","requestedSchema":{"type":"object","properties":{"approve":{"type":"boolean"}}},`+
				`"metadata":{"elicitationType":"tool_approval","timeout":600,"originalRequest":{"from":"bob","tool":"rm","arguments":{"text":"`+strings.Repeat("x", 70<<10)+`"},"envelopeId":"e7"}}}`)
			asks(fmt.Sprint("ping", n), "ping", "{}") // once that is answered she has the rest
			for heard := ""; !strings.Contains(heard, fmt.Sprintf(`"id":"ping%d","result"`, n)); {
				frame, err := fs.Read()
				if err != nil {
					t.Fatal(err)
				}
				heard = string(frame)
			}
		}
		alice.close()
		said := alice.said.text()
		sum := regexp.MustCompile(`(\d+) more lines about fs are not listed one by one`)
		if flags != nil {
			sum = regexp.MustCompile(`"event":"peer","id":"fs","count":(\d+)`)
		}
		listed := len(regexp.MustCompile(`may bob call rm\?|"event":"asked"|a question is too long for the client`).FindAllString(said, -1))
		told := listed
		for _, s := range sum.FindAllStringSubmatch(said, -1) {
			n, _ := strconv.Atoi(s[1])
			told += n
		}
		if listed > 2*quota.Log.Burst || told < 2*times { // one more each ten seconds, however long that takes here
			t.Errorf("%q: %d lines about what one asks, %d of %d are listed or summed up: %.2000s", flags, listed, told, 2*times, said[max(0, len(said)-2000):])
		}
		fs.Close(1000, "")
	}
}

// serveAmongGuests has alice at serve, in a topic in which others sit as they come.
func serveAmongGuests(t *testing.T, flags ...string) (alice *desktopClient, sit func(id string) *realgateway.Local) {
	t.Helper()
	g, err := realgateway.New(realgateway.Options{Secret: []byte(strings.Repeat("s", 32))})
	if err != nil {
		t.Fatal(err)
	}
	door := httptest.NewServer(g)
	t.Cleanup(door.Close)
	t.Cleanup(func() { g.Close() })
	token, err := g.Mint(realgateway.Claims{ID: "alice", Topic: "t1"})
	if err != nil {
		t.Fatal(err)
	}
	everything, err := wire.ParseCaps([]byte(`["*"]`))
	if err != nil {
		t.Fatal(err)
	}
	return openClient(t, "ws"+strings.TrimPrefix(door.URL, "http"), token, flags...), func(id string) *realgateway.Local {
		l, err := g.Attach("t1", id, everything, wire.Dialects[1])
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
}
