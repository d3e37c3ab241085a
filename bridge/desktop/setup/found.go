package setup

import (
	"cmp"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/desktop/install"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
)

// Row is what there is to say of a file for people: client, scope, whether we are there, what
// we are in front of, the other servers, and the file.
func Row(f install.Found) []string {
	ours := "no"
	if f.Ours {
		ours = "yes"
	}
	var bridged, others []string
	for _, s := range f.Servers {
		switch {
		case s.Wrapped:
			bridged = append(bridged, s.Name)
		case s.Remote:
			others = append(others, s.Name+" (remote)")
		default:
			others = append(others, s.Name)
		}
	}
	return []string{f.Place.Client.Name, string(f.Place.Scope), ours, cmp.Or(text.Some(bridged), "-"), cmp.Or(text.Some(others), "-"), f.Place.File}
}

// ServersOf are the servers of a client that are wrapped, or are not and can be; in scope "",
// those of all.
func ServersOf(m install.Machine, exe, client, scope string, wrapped bool) (names []string) {
	for _, f := range install.Survey(m, exe) {
		if f.Place.Client.Name != client || scope != "" && string(f.Place.Scope) != scope {
			continue
		}
		for _, s := range f.Servers {
			if s.Wrapped == wrapped && !s.Remote {
				names = append(names, s.Name)
			}
		}
	}
	return names
}

// A FoundServer is one of the servers in a Found.
type FoundServer struct {
	Name    string `json:"name"`
	Bridged bool   `json:"bridged"`
	Remote  bool   `json:"remote"`
	Problem string `json:"problem,omitempty"` // why the bridge cannot be put in front of it
}

// A Found is what is found of a client, as JSON.
type Found struct {
	Client  string        `json:"client"`
	Scope   string        `json:"scope"`
	File    string        `json:"file"`
	Here    bool          `json:"here"`   // the client seems to be on this machine
	Exists  bool          `json:"exists"` // the file does
	MCPX    bool          `json:"mcpx"`
	Servers []FoundServer `json:"servers"`
	Error   string        `json:"error,omitempty"`

	Elsewhere []string `json:"elsewhere,omitempty"` // with scope local: other directories that have servers
}

// FoundOf is what is found of a client, as JSON.
func FoundOf(f install.Found) Found {
	line := Found{f.Place.Client.Name, string(f.Place.Scope), f.Place.File, f.Here, f.There, f.Ours, []FoundServer{}, "", f.Elsewhere}
	for _, s := range f.Servers {
		line.Servers = append(line.Servers, FoundServer{s.Name, s.Wrapped, s.Remote, s.Wrong})
	}
	if f.Err != nil {
		line.Error = f.Err.Error()
	}
	return line
}

// An Edit is a change to a client's file as JSON.
type Edit struct {
	Client  string       `json:"client"`
	Scope   string       `json:"scope"`
	File    string       `json:"file"`
	Verb    install.Verb `json:"verb"`
	Server  string       `json:"server"`
	Changed bool         `json:"changed"`
	DryRun  bool         `json:"dry_run,omitempty"`
	Diff    string       `json:"diff,omitempty"`
	Aside   string       `json:"aside,omitempty"`
}

// EditOf is a change that was made, as JSON.
func EditOf(c *install.Change) Edit {
	return Edit{Client: c.Place.Client.Name, Scope: string(c.Place.Scope), File: c.Place.File, Verb: c.Verb, Server: c.Server, Changed: !c.Empty()}
}

// Done says what a change came to, in a sentence.
func Done(c *install.Change) string {
	client := c.Place.Client
	return map[install.Verb]string{
		install.Install: client.Title + " starts the bridge as " + c.Server + " now",
		install.Wrap:    client.Title + " starts " + c.Server + " behind the bridge now",
		install.Unwrap:  client.Title + " starts " + c.Server + " by itself again",
		install.Undo:    "undone: " + string(c.Undone) + " of " + c.Server + " in " + client.Title,
	}[c.Verb]
}
