package channel

import (
	"context"
	"errors"
	"net"
)

// bounded is a connection by which no more may come than left bytes.
type bounded struct {
	net.Conn
	left int64
}

var errTooMuch = errors.New("it says more than anybody wants to know")

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTooMuch
	}
	n, err := b.Conn.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

// dialBounded opens one by which as much may come as an answer may have.
func dialBounded(ctx context.Context, network, at string) (*bounded, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, at)
	if err != nil {
		return nil, err
	}
	return &bounded{conn, maxAnswer}, nil
}
