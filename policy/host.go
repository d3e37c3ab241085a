package policy

import (
	"errors"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// An endpoint is where a URL leads.
type endpoint struct {
	name string     // lower case, without a dot at the end
	addr netip.Addr // valid instead of name when it is an address
	port string     // "" when the URL's scheme has no default one
}

// Readers of URLs disagree about almost every unusual one. What follows takes
// the usual ones and calls the rest unclear: no user before the host, no
// backslash, no escapes, nothing but ASCII.
var (
	urlForm  = lazily(`^([A-Za-z][A-Za-z0-9+.-]*)://([^/?#]*)([/?#].*)?$`)
	hostForm = lazily(`^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::([0-9]{1,5}))?$`)
	unusual  = lazily(`[\x00-\x20\x7f\\]`)
)

var defaultPorts = map[string]string{"http": "80", "ws": "80", "https": "443", "wss": "443", "ftp": "21", "ssh": "22", "git": "9418"}

var (
	errOddURL  = errors.New("it is no plain URL or host name, and programs may read it differently")
	errOddHost = errors.New("its host is neither a plain name nor a plain address")
	errOddPort = errors.New("its port is none from 1 to 65535 in plain digits, and programs may read it differently")
)

// endpointOf reads a URL, or a bare host with or without a port.
func endpointOf(s string) (endpoint, error) {
	if unusual().MatchString(s) {
		return endpoint{}, errOddURL
	}
	scheme, authority := "", s
	if m := urlForm().FindStringSubmatch(s); m != nil {
		scheme, authority = strings.ToLower(m[1]), m[2]
	}
	m := hostForm().FindStringSubmatch(authority)
	if m == nil {
		return endpoint{}, errOddURL
	}
	e := endpoint{port: m[2]}
	if e.port == "" {
		e.port = defaultPorts[scheme]
	} else if n := atoi(e.port); n == 0 || n > math.MaxUint16 || e.port[0] == '0' {
		return endpoint{}, errOddPort // 080 is 80 to most, and 65616 to some
	}
	return e.named(m[1])
}

// named fills in the host. A name whose last label is a number is an address to
// some (0x7f.1, 2130706433, 127.1), so it has to be a whole one.
func (e endpoint) named(host string) (endpoint, error) {
	bare := strings.TrimSuffix(strings.ToLower(host), ".")
	addr, err := netip.ParseAddr(strings.Trim(bare, "[]"))
	if err == nil {
		e.addr = addr.Unmap()
		return e, nil
	}
	labels := strings.Split(bare, ".")
	last := labels[len(labels)-1]
	if slices.Contains(labels, "") || strings.HasPrefix(host, "[") || numberLabel().MatchString(last) {
		return e, errOddHost
	}
	e.name = bare
	return e, nil
}

var numberLabel = lazily(`^([0-9]+|0x[0-9a-f]*)$`)

// A hostPattern is a name, *.name for all below it, an address or a block of
// addresses; with a port behind it only that port.
type hostPattern struct {
	endpoint
	below bool
	block netip.Prefix
}

var errHostPattern = errors.New("a host is a name like example.com, *.example.com for all names below it, an address, or a block like 10.0.0.0/8; a port may follow a name or an address; other alphabets are written in their xn-- form")

func newHostPattern(s string) (hostPattern, error) {
	if block, err := netip.ParsePrefix(s); err == nil {
		if a := block.Addr(); a.Is4In6() { // what it is compared with is written as IPv4
			if block = netip.PrefixFrom(a.Unmap(), block.Bits()-96); !block.IsValid() {
				return hostPattern{}, errHostPattern
			}
		}
		return hostPattern{block: block.Masked()}, nil
	}
	rest, below := strings.CutPrefix(s, "*.")
	if !hostForm().MatchString(rest) {
		return hostPattern{}, errHostPattern
	}
	e, err := endpointOf(rest)
	if err != nil || below && e.name == "" {
		return hostPattern{}, errHostPattern
	}
	return hostPattern{endpoint: e, below: below}, nil
}

var errNoPort = errors.New("its port is not known")

func (h hostPattern) holds(j *judgement, v *value, _ side) (Match, error) {
	if !j.spend(200 * len(v.text)) {
		return Unclear, errTooMuch
	}
	e, err := endpointOf(v.text)
	if err != nil {
		return Unclear, err
	}
	return h.fits(e), errNoPort
}

func (h hostPattern) fits(e endpoint) Match {
	switch {
	case h.block.IsValid():
		return matchIf(e.addr.IsValid() && h.block.Contains(e.addr))
	case h.below && !strings.HasSuffix(e.name, "."+h.name), !h.below && (h.name != e.name || h.addr != e.addr):
		return No
	case h.port != "" && e.port == "":
		return Unclear
	}
	return matchIf(h.port == "" || h.port == e.port)
}

func atoi(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}
