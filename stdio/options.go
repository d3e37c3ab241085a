package stdio

import (
	"cmp"
	"log/slog"
	"time"
)

func (o Options) withDefaults() Options {
	o.StartTimeout = cmp.Or(o.StartTimeout, 30*time.Second)
	o.ProbeAfter = cmp.Or(o.ProbeAfter, 5*time.Second)
	o.MaxLine = cmp.Or(o.MaxLine, 16<<20)
	o.QueuedLines = cmp.Or(o.QueuedLines, 1024)
	o.QueuedBytes = cmp.Or(o.QueuedBytes, 64<<20)
	if o.Host != nil {
		host := *o.Host
		host.Patience = cmp.Or(host.Patience, 10*time.Second)
		host.LastWords = cmp.Or(host.LastWords, 10*time.Second)
		o.Host, o.WriteDeadline = &host, never
	}
	o.WriteDeadline = cmp.Or(o.WriteDeadline, 10*time.Second)
	o.Version = cmp.Or(o.Version, "dev")
	o.Stop = o.Stop.withDefaults()
	o.Restart = o.Restart.withDefaults()
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Trace == nil {
		o.Trace = func(string, []byte) {}
	}
	return o
}

func (t StopTimes) withDefaults() StopTimes {
	t.Input = cmp.Or(t.Input, 2*time.Second)
	t.Term = cmp.Or(t.Term, 3*time.Second)
	t.Drain = cmp.Or(t.Drain, time.Second)
	return t
}
