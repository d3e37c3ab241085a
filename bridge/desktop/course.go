package desktop

import (
	"strconv"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// follow gives something up when nothing is heard of it. A bridge of ours that waits for
// people says so four times a minute to who wants to hear of progress.
func (f *Proxy) follow(c *course, peer string, giveUp func(why string)) {
	c.idle.stop()
	wait, why := silenceTime, peer+" was silent for an hour"
	if c.shaken != "" {
		wait, why = lostTime, c.shaken
	}
	c.idle = f.clock.after(wait, func() { giveUp(why) })
}

// moves reads what a peer says of its progress. It must go forward (MCP), so what does
// not is left out.
func (c *course) moves(params []byte) (note string, ok bool) {
	at, err := pick(params, "progressToken", "progress", "message")
	if err != nil {
		return "", false
	}
	n, err := strconv.ParseFloat(string(at[1]), 64)
	if err != nil || c.moving && n <= c.at {
		return "", false
	}
	c.at, c.moving = n, true
	note, _ = jsonrpc.Unquote(at[2])
	return note, true
}
