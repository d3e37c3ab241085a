#!/bin/sh
# Two agents and a person. An intern may propose calls, but make none. Of the two
# agents that it would like to see at work, one cannot do it and says so at once;
# the other one can, and asks the person at this machine, who agrees, and the
# next time does not.
#
#	go build -o bin/ ./cmd/mcpx-bridge ./examples/notes-server ./examples/echo-server
#	sh examples/proposals/proposals.sh bin
#
# It keeps to a directory of its own, and takes everything away again.
set -eu
bin=$(cd "${1:-bin}" && pwd)
dir=$(mktemp -d)
cd "$dir"
pids=
trap 'kill $pids 2>/dev/null || true; wait; rm -rf "$dir"' EXIT
trap 'exit 1' INT TERM
export XDG_STATE_HOME="$dir/state"
umask 077 # tokens are for their bearers' eyes

# awaited FILE PATTERN waits until a file has a line of that pattern.
awaited() {
	n=0
	until grep -q "$2" "$1" 2>/dev/null; do
		n=$((n + 1))
		test $n -lt 600 || { echo "waited in vain for $2 in $1:"; cat "$1"; exit 1; }
		sleep 0.05
	done
}

# asked prints the id of the one open question.
asked() {
	n=0
	until id=$("$bin/mcpx-bridge" approvals list --json | sed -n 's/.*"id":"\([^"]*\)".*/\1/p') && test -n "$id"; do
		n=$((n + 1))
		test $n -lt 600 || { echo "nobody was asked"; exit 1; }
		sleep 0.05
	done
	echo "$id"
}

"$bin/mcpx-bridge" gateway --listen 127.0.0.1:0 --json >gateway.json 2>gateway.log &
pids="$pids $!"
awaited gateway.json '"event":"ready"'
url=$(sed -n 's/.*"url":"\([^"]*\)".*/\1/p' gateway.json)

"$bin/mcpx-bridge" run --id echo --json --allow '*' -- "$bin/echo-server" >echo.json 2>echo.log &
pids="$pids $!"
"$bin/mcpx-bridge" run --id notes --json -- "$bin/notes-server" >notes.json 2>notes.log &
pids="$pids $!"
awaited echo.json '"event":"ready"'
awaited notes.json '"event":"ready"'

"$bin/mcpx-bridge" token --id intern --role agent >intern.token
intern="--gateway $url --token-file intern.token --id intern"

echo "== the intern may not call"
"$bin/mcpx-bridge" call $intern notes add_note text=hello || echo "exit code $?"

echo "== so it proposes, to one agent that cannot do it"
"$bin/mcpx-bridge" propose $intern echo add_note '{"text":"water the plants"}' || echo "exit code $?"

echo "== and to two of which one can, if the person agrees"
"$bin/mcpx-bridge" propose $intern add_note '{"text":"water the plants"}' --preferred echo --preferred notes >result 2>said &
proposer=$!
pids="$pids $proposer"
"$bin/mcpx-bridge" approvals allow "$(asked)" >approved
wait $proposer
cat said result

echo "== the next time the person does not"
"$bin/mcpx-bridge" propose $intern notes add_note '{"text":"paint the door"}' >result 2>said &
proposer=$!
pids="$pids $proposer"
"$bin/mcpx-bridge" approvals deny "$(asked)" >denied
wait $proposer || code=$?
cat said result
echo "exit code $code"

echo "== the whole life of what was done is on record"
proposal=$(sed -n 's/.*"event":"fulfilled".*"proposal":"\([^"]*\)".*/\1/p' notes.json | head -n 1)
"$bin/mcpx-bridge" audit show notes --proposal "$proposal"
