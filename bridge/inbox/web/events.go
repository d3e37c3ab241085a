package web

import (
	"encoding/json"
	"net/http"
	"time"
)

// quiet is how long a stream of events may say nothing: whoever is gone is noticed then.
const quiet = 20 * time.Second

// events tells a page when to look again, until the browser leaves or is too slow.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	to := http.NewResponseController(w)
	to.SetReadDeadline(time.Time{}) // nothing more is read, however long this lasts
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Connection", "close") // its end is that of the connection
	send := func(said string) bool {
		to.SetWriteDeadline(time.Now().Add(patience))
		_, err := w.Write([]byte(said))
		return err == nil && to.Flush() == nil
	}
	heard := make(chan string)
	ctx := r.Context()
	go func() {
		defer close(heard)
		for e := range s.feed.Watch(ctx) {
			one, _ := json.Marshal(event{e.Because, e.ID, e.Event}) // strings always marshal
			select {
			case heard <- "data: " + string(one) + "\n\n":
			case <-ctx.Done():
				return
			}
		}
	}()
	said := "retry: 1000\n\n"
	for send(said) {
		select {
		case one, more := <-heard:
			if !more {
				return
			}
			said = one
		case <-time.After(quiet):
			said = ": still here\n\n"
		}
	}
}

// An event is what the script hears: at which bridge something happened, to what, and what.
type event struct {
	Bridge string `json:"bridge"`
	ID     string `json:"id"`
	Event  string `json:"event"`
}
