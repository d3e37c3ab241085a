package jsonrpc

import (
	"bytes"
	"strconv"
)

// AppendRequest appends a request on one line. id and params are raw JSON;
// params are left out if empty.
func AppendRequest(dst, id []byte, method string, params []byte) []byte {
	start := len(dst)
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	dst = append(dst, id...)
	dst = append(dst, ',')
	return appendCall(dst, start, method, params)
}

// AppendNotification appends a notification on one line. params are raw JSON
// and left out if empty.
func AppendNotification(dst []byte, method string, params []byte) []byte {
	return appendCall(append(dst, `{"jsonrpc":"2.0",`...), len(dst), method, params)
}

// AppendCancel appends the notification that takes back the request with a raw
// id, on one line.
func AppendCancel(dst, id []byte, why string) []byte {
	params := append(append([]byte(`{"requestId":`), id...), `,"reason":`...)
	return AppendNotification(dst, "notifications/cancelled", append(AppendQuote(params, why), '}'))
}

func appendCall(dst []byte, start int, method string, params []byte) []byte {
	dst = append(dst, `"method":`...)
	dst = AppendQuote(dst, method)
	if len(params) > 0 {
		dst = append(dst, `,"params":`...)
		dst = append(dst, params...)
	}
	return oneLine(append(dst, '}'), start)
}

// AppendResult appends a successful response on one line. id and result are raw
// JSON; the id is left out if empty, and an empty result becomes {}.
func AppendResult(dst, id, result []byte) []byte {
	start := len(dst)
	dst = appendAnswer(dst, id)
	dst = append(dst, `"result":`...)
	if len(result) == 0 {
		result = []byte("{}")
	}
	dst = append(dst, result...)
	return oneLine(append(dst, '}'), start)
}

// AppendError appends an error response on one line. id and data are raw JSON
// and left out if empty; pass null as the id to have it written.
func AppendError(dst, id []byte, code int, message string, data []byte) []byte {
	start := len(dst)
	dst = appendAnswer(dst, id)
	dst = append(dst, `"error":{"code":`...)
	dst = strconv.AppendInt(dst, int64(code), 10)
	dst = append(dst, `,"message":`...)
	dst = AppendQuote(dst, message)
	if len(data) > 0 {
		dst = append(dst, `,"data":`...)
		dst = append(dst, data...)
	}
	return oneLine(append(dst, `}}`...), start)
}

func appendAnswer(dst, id []byte) []byte {
	dst = append(dst, `{"jsonrpc":"2.0",`...)
	if len(id) > 0 {
		dst = append(dst, `"id":`...)
		dst = append(dst, id...)
		dst = append(dst, ',')
	}
	return dst
}

// oneLine turns the line breaks in dst[start:] into spaces. In JSON they can
// stand between tokens only, where a space means the same.
func oneLine(dst []byte, start int) []byte {
	for _, c := range [...]byte{'\n', '\r'} {
		rest := dst[start:]
		for {
			i := bytes.IndexByte(rest, c)
			if i < 0 {
				break
			}
			rest[i] = ' '
			rest = rest[i+1:]
		}
	}
	return dst
}
