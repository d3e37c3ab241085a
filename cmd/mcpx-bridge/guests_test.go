package main

import (
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
		g, err := realgateway.New(realgateway.Options{Secret: []byte(strings.Repeat("s", 32))})
		if err != nil {
			t.Fatal(err)
		}
		door := httptest.NewServer(g)
		token, err := g.Mint(realgateway.Claims{ID: "alice", Topic: "t1"})
		if err != nil {
			t.Fatal(err)
		}
		alice := openClient(t, "ws"+strings.TrimPrefix(door.URL, "http"), token, flags...)
		everything, err := wire.ParseCaps([]byte(`["*"]`))
		if err != nil {
			t.Fatal(err)
		}
		sit := func(id string) *realgateway.Local {
			l, err := g.Attach("t1", id, everything, wire.Dialects[1])
			if err != nil {
				t.Fatal(err)
			}
			return l
		}
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
		g.Close()
		door.Close()
	}
}
