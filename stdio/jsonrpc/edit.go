package jsonrpc

type Class uint8

const (
	Malformed Class = iota
	Request
	Notification
	Response
)

var MessageShape Shape

func Parse(data []byte, r Rules) (Message, error)   { panic("coming") }
func At(raw []byte, slots []Span, base int) Message { panic("coming") }
func (m *Message) Check() error                     { panic("coming") } // *Error BadID or BadMethod; Parse has called it
func (m *Message) Class() Class                     { panic("coming") }
func (m *Message) Text(f Field) string              { panic("coming") }

type Edit struct {
	Field Field
	Value []byte
}

func InsertMeta(members []byte) Edit                       { panic("coming") }
func (m *Message) Append(dst []byte, edits ...Edit) []byte { panic("coming") }

func Unquote(raw []byte) (string, bool)       { panic("coming") }
func AppendQuote(dst []byte, s string) []byte { panic("coming") }

func AppendRequest(dst, id []byte, method string, params []byte) []byte        { panic("coming") }
func AppendNotification(dst []byte, method string, params []byte) []byte       { panic("coming") }
func AppendResult(dst, id, result []byte) []byte                               { panic("coming") }
func AppendError(dst, id []byte, code int, message string, data []byte) []byte { panic("coming") }
