package socket

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"sync"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
)

// quiet is how long a stream may say nothing: a client that is gone is noticed then.
const quiet = 20 * time.Second

// Stream sends what watch yields as server-sent events, until the client leaves, takes
// longer than patience to read one, or there are no more. The answer begins with the
// first event, which is empty (see [inbox.Inbox]'s Watch), and is none if that is an error.
func Stream(w http.ResponseWriter, r *http.Request, watch func(context.Context) iter.Seq2[inbox.Event, error], patience time.Duration) {
	ctx, cancel := context.WithCancel(r.Context())
	heard := make(chan inbox.Event)
	var hearing sync.WaitGroup
	defer hearing.Wait()
	defer cancel()
	hearing.Go(func() {
		defer close(heard)
		hear(ctx, watch, heard)
	})
	if _, begun := <-heard; !begun {
		return
	}
	to := http.NewResponseController(w)
	to.SetReadDeadline(time.Time{})       // nothing more is read, however long this lasts
	w.Header().Set("Connection", "close") // its end is that of the connection
	head(w, http.StatusOK, "text/event-stream")
	send := func(said string) bool {
		to.SetWriteDeadline(time.Now().Add(patience))
		_, err := w.Write([]byte(said))
		return err == nil && to.Flush() == nil
	}
	for said := ": watching\nretry: 1000\n\n"; send(said); {
		select {
		case e, more := <-heard:
			if !more {
				return
			}
			one, _ := json.Marshal(e) // strings always marshal
			said = "data: " + string(one) + "\n\n"
		case <-time.After(quiet):
			said = ": still here\n\n"
		}
	}
}

// hear passes on what is watched, until somebody is heard to have gone wrong.
func hear(ctx context.Context, watch func(context.Context) iter.Seq2[inbox.Event, error], to chan<- inbox.Event) {
	for e, err := range watch(ctx) {
		if err != nil {
			return
		}
		select {
		case to <- e:
		case <-ctx.Done():
			return
		}
	}
}

// head begins an answer.
func head(w http.ResponseWriter, status int, kind string) {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
}
