package loopback_test

import (
	"net"
	"os"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/loopback"
)

// pair is a connection within this machine.
func pair(t *testing.T, network, at, dial string) (client, server net.Conn) {
	t.Helper()
	l, err := net.Listen(network, at)
	if err != nil {
		t.Skipf("NOT CHECKED: %v", err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	if client, err = net.Dial("tcp", net.JoinHostPort(dial, port)); err != nil {
		t.Fatal(err)
	}
	if server, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close(); server.Close() })
	return client, server
}

func TestWhoseAConnectionIs(t *testing.T) {
	for _, of := range [][3]string{{"tcp4", "127.0.0.1:0", "127.0.0.1"}, {"tcp6", "[::1]:0", "::1"}, {"tcp", "[::]:0", "127.0.0.1"}} {
		client, server := pair(t, of[0], of[1], of[2])
		if uid := loopback.User(server); uid != os.Geteuid() {
			t.Errorf("%v: %d", of, uid)
		}
		if uid := loopback.User(client); uid != os.Geteuid() {
			t.Errorf("%v, from the other side: %d", of, uid)
		}
	}
}

// What nobody has any more is nobody's, and not root's, whose the table says it is.
func TestAConnectionThatWasLeftIsNobodys(t *testing.T) {
	client, server := pair(t, "tcp4", "127.0.0.1:0", "127.0.0.1")
	client.Close()
	server.Read(make([]byte, 1)) // the end of it has come
	if uid := loopback.User(server); uid != -1 {
		t.Errorf("%d", uid)
	}
	one, _ := net.Pipe()
	if uid := loopback.User(one); uid != -1 {
		t.Errorf("a pipe: %d", uid)
	}
}
