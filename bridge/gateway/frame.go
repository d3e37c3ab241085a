package gateway

import (
	"encoding/binary"
	"strings"

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

// textHead returns what stands before a text frame of n bytes from server to client.
func textHead(n int) []byte { return frameHead(nil, opText, n) }

// closeFrame returns a close frame. A reason that is too long is cut, between
// characters: half of one would be an error of ours (RFC 6455 8.1).
func closeFrame(code int, reason string) []byte {
	body := websocket.FormatCloseMessage(code, strings.ToValidUTF8(reason[:min(len(reason), 120)], ""))
	return append(frameHead(nil, opClose, len(body)), body...)
}
