package topic

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

const (
	firstFrameGrace = 750 * time.Millisecond // for the gateway to speak first (WIRE 1.4)
	welcomeTimeout  = 10 * time.Second
	pingEvery       = 15 * time.Second
	pongWithin      = 10 * time.Second
	askTimeout      = 2 * time.Second // for one answer of a REST endpoint
)

// ghostChecks are the times after a connect at which the gateway has to
// list us: the reference gateways forget a participant when its former socket
// closes (WIRE 1.5). Then it is asked every minute: those of mew forget us, and leave our
// socket open, when somebody joins under our id and leaves (FINDINGS D5).
var ghostChecks = []time.Duration{2 * time.Second, 40 * time.Second}

const (
	listedEvery   = time.Minute
	presenceDelay = time.Second // from hearing that somebody came or left under our id until we ask
)

// keepalive does what depends on time, until ctx ends: it joins a gateway that stays
// silent, limits the wait for the welcome, pings, and asks whether we are still listed.
func (s *session) keepalive(ctx context.Context) {
	grace, welcome := time.NewTimer(s.grace()), time.NewTimer(welcomeTimeout)
	ping, ghost := time.NewTimer(pingEvery), time.NewTimer(time.Hour)
	defer stopAll(grace, welcome, ping, ghost)
	ghost.Stop()
	heard, seated, checks := s.heard, s.seated, ghostChecks
	asked, settled, looks := false, false, s.seat.opt.Dial == nil
	waits, probed := s.probe(ctx)
	defer probed.Wait()
	for {
		select {
		case <-ctx.Done():
			return
		case <-heard:
			heard = nil
			grace.Stop()
		case <-waits:
			grace.Reset(0)
		case <-grace.C:
			s.join()
			welcome.Reset(welcomeTimeout)
		case <-welcome.C:
			s.drop(errNoWelcome)
		case <-seated:
			seated, waits = nil, nil
			grace.Stop()
			welcome.Stop()
			settled = s.settlePace(ctx)
			if looks {
				ghost.Reset(checks[0] - time.Since(s.since))
			}
		case <-s.presence:
			if looks && seated == nil {
				ghost.Reset(presenceDelay)
			}
		case <-ping.C:
			asked = s.ping(ping, asked)
		case <-ghost.C:
			settled = settled || s.settlePace(ctx)
			if s.unlisted(ctx) {
				s.drop(errGhost)
			}
			next := listedEvery
			if checks = checks[min(1, len(checks)):]; len(checks) > 0 {
				next = checks[0] - time.Since(s.since)
			}
			ghost.Reset(next)
		}
	}
}

// grace returns how long the gateway has to speak first: 0 if it is known to wait for our
// join, from the configured dialect or from the session before.
func (s *session) grace() time.Duration {
	switch at := s.seat.at.url; {
	case at != nil && strings.HasPrefix(at.Path, "/spaces/"): // where one of mew speaks first (WIRE 5.3)
	case s.seat.fixed.Joins(), s.seat.joins.Load():
		return 0
	}
	return firstFrameGrace
}

// probe asks the gateway's REST endpoint, during the grace, whether it is one that waits for
// our join (WIRE 1.4). If it is, waits gets a value. done is finished when the question is.
func (s *session) probe(ctx context.Context) (waits <-chan struct{}, done *sync.WaitGroup) {
	done = &sync.WaitGroup{}
	if s.seat.opt.Dial != nil || s.seat.fixed.Protocol != "" || s.seat.joins.Load() {
		return nil, done
	}
	said := make(chan struct{}, 1)
	done.Go(func() {
		var health struct {
			Protocol string
			Features []any
		}
		if s.ask(ctx, s.seat.at.rest("/health", nil), &health) && health.Protocol == "" && health.Features != nil {
			said <- struct{}{}
		}
	})
	return said, done
}

func stopAll(timers ...*time.Timer) {
	for _, t := range timers {
		t.Stop()
	}
}

// join says who we are to a gateway that has been silent. Nothing is sent if
// it has spoken meanwhile.
func (s *session) join() {
	s.mu.Lock()
	spoke := s.spoke
	s.spoke = true
	s.mu.Unlock()
	if spoke {
		return
	}
	o := &s.seat.opt
	if t := s.tracer(); t != nil {
		t("send", wire.AppendJoin(nil, o.ID, o.Topic, redacted))
	}
	s.joined.Store(true)
	if err := s.conn.Put(wire.AppendJoin(nil, o.ID, o.Topic, s.token)); err != nil {
		s.drop(fmt.Errorf("send the join: %w", err))
	}
	s.conn.Flush()
}

// ping asks for a sign of life, or, having asked, looks whether one came. It
// sets the timer and reports whether an answer is awaited.
func (s *session) ping(t *time.Timer, asked bool) bool {
	c, ok := s.conn.(interface {
		Ping() error
		Heard() bool
	})
	if !ok {
		return false
	}
	heard := c.Heard()
	switch {
	case asked && !heard:
		s.drop(errSilent)
		return false
	case asked:
		t.Reset(pingEvery - pongWithin)
		return false
	}
	if err := c.Ping(); err != nil {
		s.log.Debug("ping", "error", err)
	}
	t.Reset(pongWithin)
	return true
}

// settlePace lifts the pacing if this gateway does not count frames: ours, or
// one without a rate-limit endpoint (WIRE W-3). It reports false if that is to be asked again,
// because there was no answer: then it may count.
func (s *session) settlePace(ctx context.Context) bool {
	p := s.seat.sender.Load()
	if p == nil || p.pacer == nil || s.seat.opt.Pace > 0 {
		return true
	}
	var health struct{ Server string }
	if s.ask(ctx, s.seat.at.rest("/health", nil), &health) && health.Server == "mcpx-bridge" {
		p.pacer.lift()
		return true
	}
	var limit map[string]any
	switch status, body := s.get(ctx, s.topicRest("rate-limit")); {
	case status == 0, status >= http.StatusInternalServerError, status == http.StatusTooManyRequests, status == http.StatusRequestTimeout:
		if !s.doubted {
			s.log.Info("the gateway does not say whether it counts frames, so sending is paced; --pace sets the pace", "per_minute", foreignPace)
		}
		s.doubted = true
		return false
	case status != http.StatusOK || json.Unmarshal(body, &limit) != nil:
		p.pacer.lift()
	default:
		s.log.Info("the gateway counts frames, so sending is paced", "per_minute", foreignPace)
	}
	return true
}

// topicRest is an endpoint of the topic on a gateway that has a REST prefix.
func (s *session) topicRest(name string) string {
	return s.seat.at.rest(restPrefixes[s.dialect.Protocol]+"/topics/"+url.PathEscape(s.seat.opt.Topic)+"/"+name, nil)
}

// unlisted reports whether the gateway answers with a list of participants that we are not
// in. It returns false if there is no answer. It also returns false if the gateway has never
// listed us and this is the first session: then its list may be of something else.
func (s *session) unlisted(ctx context.Context) bool {
	at := s.topicRest("participants")
	if restPrefixes[s.dialect.Protocol] == "" {
		at = s.seat.at.rest("/participants", url.Values{"space": {s.seat.opt.Topic}})
	}
	var list struct{ Participants []participant }
	if !s.ask(ctx, at, &list) || list.Participants == nil {
		return false
	}
	for _, p := range list.Participants {
		if p.id == s.you {
			s.seat.listed.Store(true)
			return false
		}
	}
	return s.rejoin || s.seat.listed.Load()
}

// A participant in a list is an object with an id, or the id alone.
type participant struct{ id string }

func (p *participant) UnmarshalJSON(raw []byte) error {
	if json.Unmarshal(raw, &p.id) == nil {
		return nil
	}
	var o struct{ ID string }
	err := json.Unmarshal(raw, &o)
	p.id = o.ID
	return err
}

// ask reads a JSON answer of the gateway and reports whether there was one.
func (s *session) ask(ctx context.Context, at string, into any) bool {
	status, body := s.get(ctx, at)
	return status == http.StatusOK && json.Unmarshal(body, into) == nil
}

// get is what the gateway answers, with the status 0 if it does not.
// It follows no redirect, which could carry the token elsewhere.
func (s *session) get(ctx context.Context, at string) (status int, body []byte) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return 0, nil
	}
	if s.token != "" {
		req.Header.Set("Authorization", "Bearer "+s.token)
	}
	o := &s.seat.opt
	client := http.Client{
		Transport:     &http.Transport{DialContext: o.netDial, TLSClientConfig: o.TLS.Clone(), DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	answer, err := client.Do(req)
	if err != nil {
		return 0, nil
	}
	defer answer.Body.Close()
	if body, err = io.ReadAll(io.LimitReader(answer.Body, 1<<20)); err != nil {
		return 0, nil
	}
	return answer.StatusCode, body
}
