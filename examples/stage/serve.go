package stage

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// A Request is what a bridge asks of its server.
type Request struct {
	ID     json.RawMessage
	Method string
	Params json.RawMessage
	Read   time.Time `json:"-"` // when its line had been read
}

// Serve makes this program a server of MCP at its stdin and stdout, until the former ends or
// answer fails. answer gives the result of each request but initialize, as JSON; "" is no
// answer at all.
func Serve(name string, answer func(Request) (result string, err error)) error {
	for in := bufio.NewReader(os.Stdin); ; {
		line, err := in.ReadBytes('\n')
		r := Request{Read: time.Now()}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if json.Unmarshal(line, &r) != nil || r.ID == nil {
			continue
		}
		result := fmt.Sprintf(`{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":%q,"version":"1"}}`, name)
		if r.Method != "initialize" {
			if result, err = answer(r); err != nil {
				return err
			}
		}
		if result != "" {
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", r.ID, result)
		}
	}
}
