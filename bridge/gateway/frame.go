package gateway

import (
	"encoding/binary"
	"strings"
	"sync"

	"github.com/gorilla/websocket"
)

// Operations of RFC 6455, as they stand in the first byte of a whole frame.
const (
	opText  = 0x80 | websocket.TextMessage
	opClose = 0x80 | websocket.CloseMessage
	opPing  = 0x80 | websocket.PingMessage
)

// frameHead appends the header of an unmasked frame with n bytes of payload.
func frameHead(dst []byte, op byte, n int) []byte {
	switch {
	case n < 126:
		return append(dst, op, byte(n))
	case n < 1<<16:
		return binary.BigEndian.AppendUint16(append(dst, op, 126), uint16(n))
	default:
		return binary.BigEndian.AppendUint64(append(dst, op, 127), uint64(n))
	}
}

// heads are rooms for the header of a frame, which an outbox copies.
var heads = sync.Pool{New: func() any { return new([10]byte) }}

// closeFrame returns a close frame. A reason that is too long is cut, between
// characters: half of one would be an error of ours (RFC 6455 8.1).
func closeFrame(code int, reason string) []byte {
	body := websocket.FormatCloseMessage(code, strings.ToValidUTF8(reason[:min(len(reason), 120)], ""))
	return append(frameHead(nil, opClose, len(body)), body...)
}
