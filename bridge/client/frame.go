package client

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// FrameLine is a frame for people, in one line that is fit to be shown: when, who to whom,
// what.
func FrameLine(e *wire.Envelope, at time.Time) []byte {
	to := "all"
	if len(e.To) > 0 {
		to = strings.Join(e.To, ",")
	}
	return fmt.Appendf(nil, "%s %s -> %s  %s  %s\n", at.Format(time.TimeOnly), text.Cell(cmp.Or(e.From, "-")), text.Cell(to), text.Cell(whatFor(e)), brief(e))
}

// whatFor is what a frame is for: its kind as it is spelled, or what becomes of
// a proposal, in the same words for all spellings.
func whatFor(e *wire.Envelope) string {
	switch n, _ := e.Ending(); e.Kind {
	case wire.Proposal:
		return strings.TrimSpace("proposes "+e.Method+" "+e.Key) + " as " + e.ID
	case wire.Withdraw:
		return "withdraws " + n.Of
	case wire.Reject:
		return "rejects " + n.Of
	}
	what := e.Spelled
	for _, more := range []string{e.Method, e.Key} {
		if more != "" && !strings.Contains(what, more) {
			what += " " + more
		}
	}
	if len(e.Corr) > 0 {
		what += " re " + strings.Join(e.Corr, ",")
	}
	return what
}

// hintsOf is what a proposal asks for beside the call.
func hintsOf(e *wire.Envelope) string {
	o, err := e.Offer()
	if err != nil {
		return " malformed: " + err.Error()
	}
	var line string
	if len(o.Preferred) > 0 {
		wait := fmt.Sprintf(", others after %s", text.Span(o.FallbackAfter))
		if o.Exclusive {
			wait = fmt.Sprintf(", others after %s", text.Span(o.ExclusiveFor))
			if !o.FallbackToBroadcast {
				wait = " alone"
			}
		}
		line = " for " + strings.Join(o.Preferred, ",") + wait
	}
	if o.TTL > 0 {
		line += fmt.Sprintf(" within %v", o.TTL)
	}
	return line
}

// brief is what a frame carries, in one line of bounded length.
func brief(e *wire.Envelope) string {
	said, after := e.Payload, ""
	switch e.Kind {
	case wire.Chat:
		said = []byte(e.ChatText())
	case wire.Request, wire.Notification:
		said = e.Message.Get(jsonrpc.Params)
	case wire.Proposal:
		said = e.Message.Get(jsonrpc.Params)
		after = text.Line(hintsOf(e))
	case wire.Withdraw, wire.Reject:
		n, _ := e.Ending()
		said = []byte(n.Reason)
		if n.Detail != "" && n.Detail != n.Reason {
			said = fmt.Appendf(said, " (%s)", n.Detail)
		}
	case wire.Response:
		if said = e.Message.Get(jsonrpc.Result); said == nil {
			said = e.Message.Get(jsonrpc.Err)
		}
	}
	return text.Cell(oneLine(said)) + after
}
