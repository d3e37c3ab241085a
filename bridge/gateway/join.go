package gateway

import (
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/hub"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// join waits for the first frame, which must be a join, and takes the seat it
// asks for. p is what the request's own token said, if it had one.
func (s *socket) join(space string, p pass) error {
	frame, err := s.next()
	if err != nil {
		return err
	}
	d, away := s.ask(frame, &space, &p)
	if away != nil {
		s.g.refused.add("join")
		f := wire.Fault{Code: away.code, Message: away.reason}
		body := d.AppendFault(nil, uuid.NewString(), wire.Stamp(time.Now()), "", f)
		s.Put(body)
		return away
	}
	return s.sit(space, p, d)
}

// ask reads a join and settles the dialect, the space and the participant.
func (s *socket) ask(frame []byte, space *string, p *pass) (wire.Dialect, *turnedAway) {
	j, err := wire.ReadJoin(frame)
	if err != nil {
		return newMew, &turnedAway{code: hub.FaultInvalid, reason: "the first frame must be a join"}
	}
	d := newMew
	if j.Protocol != "" {
		if d, _ = wire.Lookup(j.Protocol); !d.Alike(newMew) {
			return newMew, &turnedAway{code: hub.FaultInvalid, reason: "Invalid protocol version: " + strconv.QuoteToASCII(j.Protocol[:min(len(j.Protocol), 40)])}
		}
	}
	if j.Token != "" {
		if *p, err = s.g.verify(j.Token); err != nil {
			return d, &turnedAway{code: hub.FaultAuth, reason: "Invalid token" + strings.TrimPrefix(err.Error(), errToken.Error())}
		}
	}
	if *space == "" {
		*space = j.Space
	}
	if *space == "" && p.topic != anyTopic {
		*space = p.topic
	}
	switch {
	case p.id == "":
		return d, &turnedAway{code: hub.FaultAuth, reason: "Authorization required: a token in the join or the Authorization header"}
	case j.ID != "" && j.ID != p.id:
		return d, &turnedAway{code: hub.FaultAuth, reason: "Token not valid for this participant"}
	case j.Space != "" && j.Space != *space:
		return d, &turnedAway{code: hub.FaultInvalid, reason: "the join names another space than the address"}
	case !wire.ValidTopic(*space):
		return d, &turnedAway{code: hub.FaultInvalid, reason: "the space is missing or no name for one"}
	case !p.admits(*space):
		return d, &turnedAway{code: hub.FaultAuth, reason: "Token not valid for this topic"}
	}
	return d, nil
}
