package web

import (
	"html"
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
)

// A piece is something on a page. Its words can open no element, end no attribute and
// begin no comment: names of elements and attributes are constants of this package, and
// everything else is escaped where it is written.
type piece interface {
	put(to *markup)
}

// A markup is what a page is written as.
type markup struct {
	strings.Builder
	root string // see sessions
}

// words are text, safe to show on one line: what is to be seen of them is what bridge/text
// lets be seen.
type words string

func (w words) put(to *markup) { to.WriteString(html.EscapeString(text.Line(string(w)))) }

// verbatim is text of several lines whose characters were chosen by [text.Marks].
type verbatim string

func (v verbatim) put(to *markup) { to.WriteString(html.EscapeString(string(v))) }

// pieces are one after the other.
type pieces []piece

func (all pieces) put(to *markup) {
	for _, p := range all {
		if p != nil {
			p.put(to)
		}
	}
}

// An attribute belongs into the tag of the element that it is given to.
type attribute struct{ name, value string }

func (a attribute) put(to *markup) {
	to.WriteString(" " + a.name + `="` + html.EscapeString(text.Line(a.value)) + `"`)
}

// exact is an attribute whose value is sent back as it is, not shown.
type exact attribute

func (a exact) put(to *markup) {
	to.WriteString(" " + a.name + `="` + html.EscapeString(a.value) + `"`)
}

// A flag is an attribute without value.
type flag string

func (f flag) put(to *markup) { to.WriteString(" " + string(f)) }

func class(name string) piece { return attribute{"class", name} }

func id(name string) piece { return attribute{"id", name} }

// A lead is an attribute that leads to an address of this page, below its root.
type lead attribute

func (l lead) put(to *markup) { exact{l.name, to.root + l.value}.put(to) }

// href leads to an address of this page.
func href(address string) piece { return lead{"href", address} }

// action is where a form is sent.
func action(address string) piece { return lead{"action", address} }

// element is an element with attributes and content. Its name is a constant.
func element(name string, of ...piece) piece { return made{name, of} }

type made struct {
	name string
	of   pieces
}

// void are the elements that have no end.
var void = map[string]bool{"br": true, "input": true, "link": true, "meta": true}

func (e made) put(to *markup) {
	var content pieces
	to.WriteString("<" + e.name)
	for _, p := range e.of {
		switch p.(type) {
		case nil:
		case attribute, exact, lead, flag:
			p.put(to)
		default:
			content = append(content, p)
		}
	}
	to.WriteString(">")
	if !void[e.name] {
		content.put(to)
		to.WriteString("</" + e.name + ">")
	}
}

// when is p if that is so.
func when(so bool, p piece) piece {
	if so {
		return p
	}
	return nil
}

// each is a piece for each.
func each[T any](all []T, f func(T) piece) piece {
	var out pieces
	for _, one := range all {
		out = append(out, f(one))
	}
	return out
}

// name is what others call themselves or their things: in a frame of its own, which neither
// its words nor its direction of writing get out of.
func name(s string) piece { return element("bdi", class("name"), words(s)) }

// fact is one in a list of them, by its name; nil where nothing is said.
func fact(name, said string) piece {
	return when(said != "", pieces{element("dt", words(name)), element("dd", element("bdi", words(said)))})
}

// hidden is what a form sends beside what people fill in.
func hidden(name, value string) piece {
	return element("input", attribute{"type", "hidden"}, attribute{"name", name}, exact{"value", value})
}
