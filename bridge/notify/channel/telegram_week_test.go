package channel

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A longBot is Telegram to a bot: a poll from beyond the last number gets what waits, from the beginning.
type longBot struct {
	updates chan int // the number of each, which is anywhere after a week without one
	waiting []int
}

func (b *longBot) RoundTrip(r *http.Request) (*http.Response, error) {
	var updates []string
	if strings.HasSuffix(r.URL.Path, "/getUpdates") {
		var p struct{ Offset, Timeout int }
		json.NewDecoder(r.Body).Decode(&p)
		if n := len(b.waiting); n > 0 && p.Offset <= b.waiting[n-1]+1 {
			b.waiting = slices.DeleteFunc(b.waiting, func(id int) bool { return id < p.Offset })
		}
		late := time.After(time.Duration(p.Timeout) * time.Second)
		for over := false; !over && (len(b.waiting) == 0 || len(b.updates) > 0); {
			select {
			case n := <-b.updates:
				b.waiting = append(b.waiting, n)
			case <-late:
				over = true
			case <-r.Context().Done():
				return nil, r.Context().Err()
			}
		}
		for _, n := range b.waiting {
			updates = append(updates, fmt.Sprintf(`{"update_id":%d,"callback_query":{"id":"q","from":{"id":7},"data":"deny %032d 0badcafe","message":{"chat":{"id":5}}}}`, n, n))
		}
	}
	answer := `{"ok":true,"result":[` + strings.Join(updates, ",") + `]}`
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(answer)), Request: r}, nil
}

// After a week in which nobody pressed anything, Telegram begins to number anew: with less than before, maybe.
func TestAnAnswerAfterAWeekOfSilenceWasTakenForOneOfBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &longBot{updates: make(chan int, 8)}
		c := &telegram{web: &http.Client{Transport: b}, api: "http://telegram.example/bot/", chat: "5"}
		ctx, cancel := context.WithCancel(t.Context())
		took, done := make(chan string, 8), make(chan error)
		go func() {
			done <- c.Listen(ctx, func(_ context.Context, a Answer) string {
				took <- strings.TrimLeft(a.Question, "0")
				return ""
			})
		}()
		b.updates <- 700000001
		time.Sleep(8 * 24 * time.Hour)
		b.updates <- 300000001
		time.Sleep(time.Minute)
		b.updates <- 300000002
		time.Sleep(time.Minute)
		cancel()
		<-done
		close(took)
		var all []string
		for id := range took {
			all = append(all, id)
		}
		if got := strings.Join(all, " "); got != "700000001 300000001 300000002" {
			t.Errorf("taken: %s", got)
		}
	})
}
