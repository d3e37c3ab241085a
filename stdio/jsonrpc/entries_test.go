package jsonrpc_test

import (
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

func TestEntriesAreAllMembersInOrder(t *testing.T) {
	m := parse(t, ` {"id":1,"params": { "a\"}" : [ {"x":"]}\\"}, 2 ] ,"na\u006de":"n", "b":{},"c":-1.5e2 ,"d":null,"arguments":{"z":[]},"_meta":{"progressToken":"\\","q":"\""},"e":"" , "f":true}}`)
	for of, want := range map[jsonrpc.Field]string{
		jsonrpc.Params: `"a\"}"=[ {"x":"]}\\"}, 2 ] | "na\u006de"*="n" | "b"={} | "c"=-1.5e2 | "d"=null | "arguments"*={"z":[]} | ` +
			`"_meta"*={"progressToken":"\\","q":"\""} | "e"="" | "f"=true`,
		jsonrpc.Meta:      `"progressToken"*="\\" | "q"="\""`,
		jsonrpc.Result:    ``,
		jsonrpc.Arguments: `"z"=[]`,
	} {
		var got []string
		for e := range m.Entries(of) {
			mark := ""
			if e.Field != jsonrpc.Fields {
				mark = "*"
			}
			got = append(got, string(e.Key)+mark+"="+string(e.Value))
		}
		if text := strings.Join(got, " | "); text != want {
			t.Errorf("members of %d: %s\nwant %s", of, text, want)
		}
	}
	for e := range m.Entries(jsonrpc.Params) {
		if string(e.Key) != `"a\"}"` {
			t.Errorf("the loop went on to %s", e.Key)
		}
		break
	}
}
