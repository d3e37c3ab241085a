package web

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
)

// Who asks names no machine to which this one logs in before anybody has said yes.
func TestALookAtAQuestionOpenedWhatIsOnAnotherMachine(t *testing.T) {
	for file, compared := range map[string]bool{
		`C:\none.yaml`: true, `c:/none.yaml`: true,
		`\\127.0.0.1\none\f`: false, `//127.0.0.1/none/f`: false, `\/127.0.0.1\none\f`: false, `\\?\UNC\127.0.0.1\none\f`: false,
		`\??\UNC\127.0.0.1\none\f`: false, `\\.\UNC\127.0.0.1\none\f`: false, `\\.\pipe\none`: false, `\\?\C:\none.yaml`: false,
	} {
		args, err := json.Marshal(map[string]string{"path": file, "content": "x"})
		if err != nil {
			t.Fatal(err)
		}
		v := &approval.View{}
		v.Args = args
		if shown := changes(v, time.Now()); (shown != nil) != compared {
			t.Errorf("%s: %v", file, shown)
		}
	}
}
