package loopback

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
)

// User is the id of the user whose process is at the other end of a TCP connection within
// this machine, -1 where the system does not say. It reads the system's table of connections.
func User(c net.Conn) int {
	here, ok := c.LocalAddr().(*net.TCPAddr)
	there, also := c.RemoteAddr().(*net.TCPAddr)
	if !ok || !also {
		return -1
	}
	from, to := there.AddrPort(), here.AddrPort()
	if uid := userIn("/proc/net/tcp", row(from, four), row(to, four)); uid >= 0 {
		return uid
	}
	return userIn("/proc/net/tcp6", row(from, sixteen), row(to, sixteen))
}

func four(a netip.Addr) []byte {
	if a = a.Unmap(); !a.Is4() {
		return nil
	}
	return a.AsSlice()
}

func sixteen(a netip.Addr) []byte {
	all := a.As16()
	return all[:]
}

// row is an end of a connection as a table has it: words in the machine's order.
func row(a netip.AddrPort, in func(netip.Addr) []byte) string {
	var b strings.Builder
	for word := in(a.Addr()); len(word) > 0; word = word[4:] {
		fmt.Fprintf(&b, "%08X", binary.NativeEndian.Uint32(word))
	}
	return fmt.Sprintf("%s:%04X", b.String(), a.Port())
}

// userIn finds who has the socket from one end to the other. A socket that nobody has any more
// has no inode, and says that it is root's.
func userIn(table, from, to string) int {
	f, err := os.Open(table)
	if err != nil {
		return -1
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		at := strings.Fields(lines.Text())
		if len(at) < 10 || at[1] != from || at[2] != to || at[9] == "0" {
			continue
		}
		if uid, err := strconv.ParseUint(at[7], 10, 32); err == nil {
			return int(uid)
		}
	}
	return -1
}
