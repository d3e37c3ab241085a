package main

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/stdiotest"
)

// What of the program only the start needed is not mapped any more soon after it,
// and is there again for whoever calls.
func TestWhatOfTheProgramOnlyTheStartNeededIsUnmapped(t *testing.T) {
	t.Parallel()
	gateway := startKillable(t, t.TempDir(), "", "gateway", "--json", "--listen", "127.0.0.1:0")
	gateway.awaitUnmapped(gateway.ready()["url"])
	args := append([]string{"run", "--json", "--listen", "127.0.0.1:0", "--"}, stdiotest.Command(t, stdiotest.Script{})...)
	hosting := startKillable(t, t.TempDir(), "", args...)
	hosting.awaitUnmapped(hosting.ready()["gateway"])
}

// awaitUnmapped waits until files have fewer pages in memory than half of the
// program's code has: before that, more than all of it is. Then url must answer.
func (k *killable) awaitUnmapped(url any) {
	t := k.t
	t.Helper()
	mapped := func() int { return k.memory("RssFile") + k.memory("RssShmem") } // that is where a file in a tmpfs counts
	for deadline := time.Now().Add(patience); 2*mapped() >= k.memory("VmExe"); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d KiB of files are mapped; the program's code has %d", mapped(), k.memory("VmExe"))
		}
	}
	answer, err := http.Get("http" + strings.TrimPrefix(url.(string), "ws") + "/health")
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Errorf("it answers %s", answer.Status)
	}
}

// memory is what /proc/PID/status says under the key, in KiB.
func (k *killable) memory(key string) (kib int) {
	k.t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", k.cmd.Process.Pid))
	if err != nil {
		k.t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(status), "\n"+key+":")
	if n, err := fmt.Sscanf(after, "%d kB", &kib); n != 1 {
		k.t.Skipf("the system does not count %s (%v)", key, err)
	}
	return kib
}

// Only what the file has all of may be unmapped.
func TestWhatIsNotAsInItsFileStaysMapped(t *testing.T) {
	const smaps = `00400000-00de0000 r-xp 00000000 fe:00 2049                               /opt/a program/mcpx-bridge
Size:              10112 kB
Rss:                7976 kB
Private_Dirty:         0 kB
Anonymous:             0 kB
Swap:                  0 kB
VmFlags: rd ex mr mw me 
00de0000-018ec000 r--p 009e0000 fe:00 2049                               /opt/a program/mcpx-bridge (deleted)
Anonymous:             0 kB
Swap:                  0 kB
VmFlags: rd mr mw me 
018ec000-01984000 rw-p 014ec000 fe:00 2049                               writable
Anonymous:             0 kB
Swap:                  0 kB
VmFlags: rd wr mr mw me ac 
01984000-039cc000 r--p 00000000 00:00 0 
Anonymous:             0 kB
Swap:                  0 kB
VmFlags: rd mr mw me ac 
03a00000-03b00000 r-xp 00000000 fe:00 2049                               with a breakpoint
Anonymous:             4 kB
Swap:                  0 kB
VmFlags: rd ex mr mw me 
03b00000-03c00000 r--p 00000000 fe:00 2049                               relocated, and swapped out since
Anonymous:             0 kB
Swap:               2556 kB
VmFlags: rd mr mw me ac 
03c00000-03d00000 r--p 00000000 fe:00 2049                               not counted
Swap:                  0 kB
VmFlags: rd mr mw me 
03d00000-03e00000 r--p 00000000 fe:01 2049                               /of/another/device
Anonymous:             0 kB
Swap:                  0 kB
VmFlags: rd mr mw me 
03e00000-03f00000 r--p 00000000 fe:00 2050                               /of/another/file
Anonymous:             0 kB
Swap:                  0 kB
VmFlags: rd mr mw me 
03f00000-04000000 r--p 00000000 fe:00 2049                               cut short
Anonymous:             0 kB
Swap:                  0 kB
`
	got := ofProgram(strings.NewReader(smaps), 0x400001)
	want := []region{{0x400000, 0xde0000, "r-xp", "fe:00", 2049, 2}, {0xde0000, 0x18ec000, "r--p", "fe:00", 2049, 2}}
	if !slices.Equal(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	if got := ofProgram(strings.NewReader(smaps), 0xf000000); got != nil {
		t.Errorf("%+v belong to a program that is not there", got)
	}
}
