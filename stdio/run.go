package stdio

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"runtime"
	"time"
)

// Run launches the server and keeps it up until ctx ends, then stops it and
// returns nil: when Run returns, everything it started is gone. It returns a
// *[StartError] at once if the command cannot be launched at all, and when the
// restart budget is spent. To an endpoint that can be opened again it goes back
// for as long as it takes, once it was there. With a Host there is one process,
// and Run returns nil whatever its end: the handler has got it in ServerDown.
func (s *Server) Run(ctx context.Context, h Handler) error {
	if len(s.o.Args) == 0 && !s.attaches() {
		return &StartError{Err: errors.New("no command"), Exit: Exit{Code: -1, Cause: CauseStart, Detail: "no command"}}
	}
	spent := failures{Budget: s.o.Restart}
	var way launchHistory
	for {
		x, up, err := s.runOnce(ctx, h, &way)
		stopping := ctx.Err() != nil
		if !stopping {
			s.planRestart(&x, &spent, &way, up, err)
		}
		s.reportDown(h, x, stopping)
		if r := s.relay.Load(); r != nil {
			r.finish()
		}
		switch {
		case stopping, s.o.Host != nil && err == nil:
			return nil
		case !x.Restarting:
			return &StartError{Args: s.o.Args, Endpoint: s.o.Endpoint, Launches: way.launches, WasUp: way.wasUp, Err: err, Exit: x}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(x.In):
		}
	}
}

// runOnce launches one process and returns when it has ended: how, how long it was up, and
// the error if it could not be launched.
func (s *Server) runOnce(ctx context.Context, h Handler, past *launchHistory) (Exit, time.Duration, error) {
	past.launches++
	c, err := s.launch(ctx, past.said)
	if err != nil {
		return s.notLaunched(err), 0, err
	}
	if s.last.Store(c); s.killed.Err() != nil {
		c.kill()
	}
	if c.cmd != nil {
		s.log.Info("server launched", "pid", c.pid)
	}
	defer c.over()
	s.o.Launched()
	go c.watch(ctx)
	if c.sweeps() {
		go reapUntilGone(c.gone)
	} else if runtime.GOOS == "linux" && s.o.Sweep && c.cmd != nil {
		s.unswept.Do(func() {
			s.log.Warn("processes that the server starts outside its process group cannot be found when it ends: this system has no PR_SET_CHILD_SUBREAPER", "event", "unswept")
		})
	}
	if s.o.Host != nil {
		s.newRelay(ctx, c, h).run()
		return c.why.exit(c), time.Since(c.born), nil
	}
	c.talk.begin(past.plan)
	r := reader{reporter: newReporter(c, h), first: true}
	r.run()
	<-c.gone
	x := c.why.exit(c)
	if !r.up {
		past.failed(c, x.Cause)
		return x, 0, nil
	}
	past.worked(c.talk.hello.Modern)
	return x, time.Since(c.born), nil
}

func (s *Server) notLaunched(err error) Exit {
	cause := CauseStart
	if s.attaches() {
		cause = CauseUnreached
	}
	return Exit{Code: -1, Status: -1, Cause: cause, Detail: err.Error()}
}

// planRestart decides whether and when the next process follows the end of one.
func (s *Server) planRestart(x *Exit, spent *failures, way *launchHistory, up time.Duration, err error) {
	if up > 0 && s.attaches() {
		spent.Restarts = math.MaxInt // the address is right; how long it is away is up to others
	}
	switch {
	case s.o.Endpoint.onlyOnce(), s.o.Host != nil:
	case !s.attaches() && err != nil && lasting(err):
	case way.again:
		x.Restarting = true
	case !s.attaches() && !way.wasUp && way.launches >= spent.Starts:
	default:
		x.In, x.Restarting = spent.spend(time.Now(), up)
	}
}

// reportDown tells the log and the handler how a process ended. It is no warning if Run is
// to end, or if the client has left and the exit status is 0.
func (s *Server) reportDown(h Handler, x Exit, stopping bool) {
	level := slog.LevelWarn
	if stopping || x.Cause == CauseHostLeft && x.Code == 0 {
		level = slog.LevelInfo
	}
	about := []slog.Attr{slog.String("event", x.Cause), pidAttr(x.PID)}
	if x.Restarting {
		about = append(about, slog.Duration("again_in", x.In))
	}
	s.log.LogAttrs(context.Background(), level, "server "+x.String(), about...)
	h.ServerDown(x)
	h.ServerIdle()
}

// A launchHistory is what earlier launches have taught.
type launchHistory struct {
	launches int
	wasUp    bool
	said     map[string]bool // lines of the stderr of those that did not come up

	plan  eraOrder
	tried bool // the one launch with another plan has been used
	again bool // launch at once, outside the budget
}

func (w *launchHistory) worked(modern bool) {
	w.again, w.wasUp, w.said = false, true, nil
	if w.plan = legacyOnly; modern {
		w.plan = modernFirst
	}
}

// failed picks the plan of the next launch after one that did not come up.
func (w *launchHistory) failed(c *child, cause string) {
	w.said = map[string]bool{}
	for _, line := range c.stderr.all() {
		w.said[line] = true
	}
	next, worth := c.talk.died()
	died := cause == CauseExit || cause == CauseStdoutEOF || cause == CauseStdinClosed
	w.again = worth && died && !w.tried
	switch {
	case w.again:
		w.plan, w.tried = next, true
	case w.plan == modernFirst:
		w.plan = legacyFirst
	}
}
