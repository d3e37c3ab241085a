package localgateway

import (
	"bufio"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/gateway"
)

// Dial connects to this machine's gateway, and makes it prove on that very connection that
// it holds our secret before anybody shows it a token: between two hosts, whoever is quick
// can listen where the last one did (FINDINGS L9). It takes two seconds at most.
func (l *LocalGateway) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	secret, err := l.State.Secret()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	err = proven(conn, addr, secret)
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// proven has the other end of a connection prove that it is a gateway with that secret, at
// the address that the connection was made to. The connection is as fresh afterwards.
func proven(conn net.Conn, host string, secret []byte) error {
	challenge := rand.Text()
	if _, err := fmt.Fprintf(conn, "GET /health?challenge=%s HTTP/1.1\r\nHost: %s\r\n\r\n", challenge, host); err != nil {
		return err
	}
	answer, err := http.ReadResponse(bufio.NewReader(io.LimitReader(conn, 64<<10)), nil)
	if err != nil {
		return fmt.Errorf("the program at %s is no gateway of mcpx-bridge: %w", host, err)
	}
	defer answer.Body.Close()
	var said struct{ Server, Proof string }
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.Close || json.Unmarshal(body, &said) != nil || said.Server != "mcpx-bridge" {
		return fmt.Errorf("the program at %s is no gateway of mcpx-bridge", host)
	}
	want := gateway.Proof(secret, challenge, conn.RemoteAddr())
	if want == "" || !hmac.Equal([]byte(want), []byte(said.Proof)) {
		return fmt.Errorf("the program at %s does not have the secret of this machine's gateway, so it gets no token", host)
	}
	return nil
}
