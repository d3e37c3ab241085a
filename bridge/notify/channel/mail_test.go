package channel_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/notify/channel"
)

// certificate is one for 127.0.0.1, which programs of this test believe that are run on Linux.
var certificate = sync.OnceValue(func() tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	of := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign}
	raw, err := x509.CreateCertificate(rand.Reader, of, of, &key.PublicKey, key)
	if err != nil {
		panic(err)
	}
	return tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key}
})

// believes has this process trust the certificate: it is called before any other is looked at.
func believes() (forget func()) {
	dir, err := os.MkdirTemp("", "roots")
	if err != nil {
		panic(err)
	}
	file := filepath.Join(dir, "roots.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate().Certificate[0]}), 0o600); err != nil {
		panic(err)
	}
	os.Setenv("SSL_CERT_FILE", file)
	return func() { os.RemoveAll(dir) }
}

// A letter is what a mail server took.
type letter struct {
	from, user string
	to         []string
	encrypted  bool
	text       []byte
}

// A postOffice is a mail server.
type postOffice struct {
	came   chan letter
	refuse func(to string) error // at RCPT
}

type desk struct {
	*postOffice
	c *smtp.Conn
	l letter
}

func (p *postOffice) NewSession(c *smtp.Conn) (smtp.Session, error) {
	return &desk{p, c, letter{}}, nil
}

func (d *desk) AuthMechanisms() []string { return []string{sasl.Plain} }

func (d *desk) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		if password != secret {
			return smtp.ErrAuthFailed
		}
		d.l.user = user
		return nil
	}), nil
}

func (d *desk) Mail(from string, _ *smtp.MailOptions) error {
	d.l.from = from
	return nil
}

func (d *desk) Rcpt(to string, _ *smtp.RcptOptions) error {
	if d.refuse != nil {
		if err := d.refuse(to); err != nil {
			return err
		}
	}
	d.l.to = append(d.l.to, to)
	return nil
}

func (d *desk) Data(r io.Reader) (err error) {
	_, d.l.encrypted = d.c.TLSConnectionState()
	d.l.text, err = io.ReadAll(r)
	d.came <- d.l
	return err
}

func (*desk) Reset()        {}
func (*desk) Logout() error { return nil }

// posts runs a mail server, and returns its port.
func posts(t *testing.T, p *postOffice, at string, encrypted bool) (port string) {
	t.Helper()
	p.came = make(chan letter, 8)
	s := smtp.NewServer(p)
	s.Domain, s.ErrorLog = "post.example", quiet{}
	if encrypted {
		s.TLSConfig = &tls.Config{Certificates: []tls.Certificate{certificate()}}
	}
	l, err := net.Listen("tcp", at)
	if err != nil {
		t.Skipf("nobody may listen at %s here: %v", at, err)
	}
	if strings.HasSuffix(at, ":465") {
		l = tls.NewListener(l, s.TLSConfig)
	}
	done := make(chan struct{})
	go func() { defer close(done); s.Serve(l) }()
	t.Cleanup(func() { s.Close(); <-done })
	_, port, _ = net.SplitHostPort(l.Addr().String())
	return port
}

type quiet struct{}

func (quiet) Printf(string, ...any) {}
func (quiet) Println(...any)        {}

// Nothing that others wrote is part of the head but the subject, which holds no line break.
func TestMailIsALetterToTheAddressesOfTheFileAlone(t *testing.T) {
	p := &postOffice{}
	port := posts(t, p, "127.0.0.1:0", false)
	c, n := open(t, "mail: [ann@example.com, ben@example.com], from: bridge@example.com, server: '127.0.0.1:%s'", port), asked(t)
	n.Question.Headline = "bödy\r\nBcc: evil@example.com requests " + strings.Repeat("é", 150)
	for _, n := range []*channel.Notice{n, closed(n, "")} {
		if _, err := c.Send(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}
	first, last := <-p.came, <-p.came
	if first.from != "bridge@example.com" || !slices.Equal(first.to, []string{"ann@example.com", "ben@example.com"}) {
		t.Errorf("from %s to %v", first.from, first.to)
	}
	m, err := mail.ReadMessage(bytes.NewReader(first.text))
	if err != nil {
		t.Fatal(err)
	}
	subject, err := new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject"))
	if err != nil || !strings.HasPrefix(subject, `bödy\u{d}\u{a}Bcc: evil@example.com requests é`) || m.Header.Get("Bcc") != "" || len(m.Header) != 9 {
		t.Errorf("%q: %v", subject, m.Header)
	}
	for line := range strings.SplitSeq(string(first.text), "\r\n") {
		if len(line) > 998 || strings.ContainsFunc(line, func(r rune) bool { return r > 0x7e || r < ' ' }) {
			t.Errorf("the line %q", line)
		}
	}
	body, _ := io.ReadAll(quotedprintable.NewReader(m.Body))
	if !strings.Contains(string(body), `<!channel> *bold* <b>x</b> \r\nBcc: evil@example.com\n.\n@all \u{202e}`) || !strings.Contains(string(body), "Answer ["+n.Question.Short+"] at the bridge: mcpx-bridge approve") {
		t.Errorf("%s", body)
	}
	m, err = mail.ReadMessage(bytes.NewReader(last.text))
	if err != nil || m.Header.Get("In-Reply-To") != "<"+n.ID+"@example.com>" || !strings.HasPrefix(m.Header.Get("Message-Id"), "<"+n.Question.ID+"-"+n.Question.Short+"-closed@") {
		t.Errorf("%v, %v", err, m.Header)
	}
}

func TestMailIsEncryptedWhereItCanBe(t *testing.T) {
	for at, auth := range map[string]string{"127.0.0.1:0": ", user: bridge, password: '${SECRET}'", "127.0.0.1:465": ", user: bridge, password: '${SECRET}'"} {
		t.Run(at, func(t *testing.T) {
			p := &postOffice{}
			port := posts(t, p, at, true)
			if _, err := open(t, "mail: a@x.org, from: b@x.org, server: '127.0.0.1:%s'%s", port, auth).Send(t.Context(), asked(t)); err != nil {
				t.Fatal(err)
			}
			if l := <-p.came; !l.encrypted && at != "127.0.0.1:465" || l.user != "bridge" {
				t.Errorf("%+v", l)
			}
		})
	}
}

// Without TLS neither password nor mail leaves this machine.
func TestMailInClearTextStaysHere(t *testing.T) {
	p := &postOffice{}
	port := posts(t, p, "127.0.0.1:0", false)
	_, err := open(t, "mail: a@x.org, from: b@x.org, server: '0.0.0.0:%s', user: bridge, password: '${SECRET}'", port).Send(t.Context(), asked(t)) // as far as names tell, another machine
	if e, is := errors.AsType[*channel.Error](err); !is || !e.Final || !strings.Contains(err.Error(), "clear text") || len(p.came) > 0 {
		t.Errorf("%v", err)
	}
}

// A certificate of somebody else's name gets nothing either.
func TestAMailServerThatIsAnother(t *testing.T) {
	p := &postOffice{}
	port := posts(t, p, "127.0.0.1:0", true)
	_, err := open(t, "mail: a@x.org, from: b@x.org, server: 'localhost:%s'", port).Send(t.Context(), asked(t))
	if err == nil || !strings.Contains(err.Error(), "certificate") || len(p.came) > 0 {
		t.Errorf("%v", err)
	}
}

func TestAMailServerThatFails(t *testing.T) {
	for name, c := range map[string]struct {
		refusal error
		final   bool
		want    string
	}{
		"later":    {&smtp.SMTPError{Code: 451, EnhancedCode: smtp.EnhancedCode{4, 7, 1}, Message: "greylisted"}, false, "the mail server said 451 4.7.1 greylisted"},
		"for good": {&smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 1}, Message: "no such user"}, true, "the mail server said 550 5.1.1 no such user"},
	} {
		p := &postOffice{refuse: func(string) error { return c.refusal }}
		port := posts(t, p, "127.0.0.1:0", false)
		_, err := open(t, "mail: a@x.org, from: b@x.org, server: '127.0.0.1:%s'", port).Send(t.Context(), asked(t))
		if e, is := errors.AsType[*channel.Error](err); !is || e.Final != c.final || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, hears := range map[string]func(net.Conn){
		"hangs":        func(c net.Conn) { io.Copy(io.Discard, c) },
		"closes":       func(c net.Conn) { io.WriteString(c, "220 x ESMTP\r\n"); c.Close() },
		"says rubbish": func(c net.Conn) { io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n"); c.Close() },
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			if conn, err := l.Accept(); err == nil {
				hears(conn)
			}
		}()
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		_, err = open(t, "mail: a@x.org, from: b@x.org, server: '%s'", l.Addr()).Send(ctx, asked(t))
		if e, is := errors.AsType[*channel.Error](err); !is || e.Final {
			t.Errorf("%s: %v", name, err)
		}
		cancel()
		l.Close()
		<-done
	}
}

// An address that was closed silenced the channel for all the others, for good.
func TestAnAddressThatIsRefusedKeepsTheMailFromNoOther(t *testing.T) {
	p := &postOffice{refuse: func(to string) error {
		if to == "left@x.org" {
			return &smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 1}, Message: "no such user"}
		}
		return nil
	}}
	port := posts(t, p, "127.0.0.1:0", false)
	_, err := open(t, "mail: [left@x.org, a@x.org], from: b@x.org, server: '127.0.0.1:%s'", port).Send(t.Context(), asked(t))
	if e, is := errors.AsType[*channel.Error](err); !is || !e.Sent || err.Error() != "left@x.org: the mail server said 550 5.1.1 no such user" {
		t.Fatal(err)
	}
	if l := <-p.came; !slices.Equal(l.to, []string{"a@x.org"}) {
		t.Errorf("it is for %q", l.to)
	}
}
