package channel

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/smtp"
	"net/textproto"
	"strings"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/loopback"
)

// A mail is a server that takes mail. One message is one connection: over TLS from the beginning at
// port 465, else with STARTTLS, which only a server on this machine may do without.
type mail struct {
	server, host   string
	from           string
	to             []string
	user, password string
}

func newMail(s secrets) (Channel, error) {
	password, err := s.read("password")
	if err != nil {
		return nil, err
	}
	host, _, err := net.SplitHostPort(s.Server)
	if err != nil {
		return nil, err
	}
	s.hidden.add("\x00" + s.User + "\x00" + password) // as it is sent
	m := &mail{server: s.Server, host: host, from: s.From, user: s.User, password: password}
	for _, to := range s.To {
		m.to = append(m.to, to.Text)
	}
	return m, nil
}

// maxMail is how many bytes a body has at most.
const maxMail = 64 << 10

func (m *mail) Send(ctx context.Context, n *Notice) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	if err := m.deliver(ctx, m.message(n, time.Now())); err != nil {
		return "", smtpError(err)
	}
	return "", nil
}

// smtpError is an error that says whether it is for good: a server says so with 5xx.
func smtpError(err error) error {
	if ours, is := errors.AsType[*Error](err); is {
		return ours
	}
	said, is := errors.AsType[*textproto.Error](err)
	if !is {
		return &Error{Err: err}
	}
	return &Error{Err: fmt.Errorf("the mail server said %d %s", said.Code, said.Msg), Final: said.Code >= 500}
}

func (m *mail) deliver(ctx context.Context, message []byte) error {
	conn, err := m.dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })()
	c, err := smtp.NewClient(conn, m.host)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := m.login(c); err != nil {
		return err
	}
	if err := c.Mail(m.from); err != nil {
		return err
	}
	some, err := m.address(c)
	if err != nil {
		return err
	}
	w, err := c.Data()
	if err != nil {
		return err
	}
	if _, err := w.Write(message); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	c.Quit() // it has the message, whatever becomes of this
	return some
}

// address says whom it is for. An address that is refused for good keeps the letter from no other;
// some says which those are.
func (m *mail) address(c *smtp.Client) (some, err error) {
	taken := 0
	var refused error
	var words []string
	for _, to := range m.to {
		err := c.Rcpt(to)
		said, is := errors.AsType[*textproto.Error](err)
		switch {
		case err == nil:
			taken++
		case is && said.Code >= 500:
			refused = err
			words = append(words, fmt.Sprintf("%s: %s", to, smtpError(err)))
		default:
			return nil, err
		}
	}
	if taken == 0 || refused == nil {
		return nil, refused
	}
	return &Error{Err: errors.New(strings.Join(words, "; ")), Sent: true}, nil
}

func (m *mail) dial(ctx context.Context) (net.Conn, error) {
	conn, err := dialBounded(ctx, "tcp", m.server) // what reads answers has no bound of its own
	if err != nil {
		return nil, err
	}
	if strings.HasSuffix(m.server, ":465") {
		return tls.Client(conn, m.tls()), nil
	}
	return conn, nil
}

func (m *mail) tls() *tls.Config { return &tls.Config{ServerName: m.host} }

var errClear = errors.New("the mail server offers no STARTTLS, and mail in clear text goes to this machine only")

func (m *mail) login(c *smtp.Client) error {
	if _, encrypted := c.TLSConnectionState(); !encrypted {
		if can, _ := c.Extension("STARTTLS"); can {
			if err := c.StartTLS(m.tls()); err != nil {
				return err
			}
		} else if !loopback.Is(m.host) {
			return &Error{Err: errClear, Final: true}
		}
	}
	if m.user == "" {
		return nil
	}
	return c.Auth(smtp.PlainAuth("", m.user, m.password, m.host)) // which says nothing in clear text, but to this machine
}

// message is a mail with nothing in its head that others wrote, but the subject, which is encoded.
func (m *mail) message(n *Notice, now time.Time) []byte {
	var b bytes.Buffer
	head := func(name, value string) { fmt.Fprintf(&b, "%s: %s\r\n", name, value) }
	_, domain, _ := strings.Cut(m.from, "@")
	id := func(event string) string { return "<" + event + "@" + domain + ">" }
	first := NoticeID(n.Question, "asked")
	head("From", m.from)
	head("To", strings.Join(m.to, ", "))
	head("Date", now.Format(time.RFC1123Z))
	head("Message-ID", id(n.ID))
	if n.ID != first {
		head("In-Reply-To", id(first))
		head("References", id(first))
	}
	head("Subject", strings.ReplaceAll(mime.QEncoding.Encode("utf-8", n.Title(200)), "?= =?", "?=\r\n =?"))
	head("Auto-Submitted", "auto-generated")
	head("MIME-Version", "1.0")
	head("Content-Type", "text/plain; charset=utf-8")
	head("Content-Transfer-Encoding", "quoted-printable")
	b.WriteString("\r\n")
	w := quotedprintable.NewWriter(&b)
	fmt.Fprintf(w, "%s\n\n%s\n", n.Title(1000), n.Body(maxMail))
	w.Close()
	return b.Bytes()
}
