package install

// A Found says what there is of a client on a machine.
type Found struct {
	Place   Place
	Here    bool // the client seems to be here
	There   bool // the file is
	Ours    bool // our entry is in it
	Servers []Server
	Err     error // why the file cannot be read

	Elsewhere []string // with Local: other directories that have servers, as the file names them
}

// A Server is an entry of a client's that is not ours.
type Server struct {
	Name    string
	Wrapped bool   // a bridge is in front of it
	Remote  bool   // it has an address and no command
	Wrong   string // why it can have no bridge in front of it; ""
}

// Survey looks at the files of all clients. exe is our program, if it goes by
// another name than usual.
func Survey(m Machine, exe string) []Found {
	var all []Found
	for _, c := range Clients() {
		for _, s := range c.Scope {
			if p, ok := c.Place(m, s); ok {
				all = append(all, p.survey(m, exe))
			}
		}
	}
	return all
}

func (p Place) survey(m Machine, exe string) Found {
	f := Found{Place: p}
	c, d, err := p.read("", "")
	f.Err = err
	if c != nil {
		f.There = c.before.there
	}
	f.Here = f.There || p.Scope == User && p.root != m.Home && isDir(p.root)
	if err != nil {
		f.There, f.Here = true, true
		return f
	}
	for _, s := range d.page.slots() {
		if s.name == OurName && s.entry.bridge(exe) {
			f.Ours = true
			continue
		}
		f.Servers = append(f.Servers, Server{s.name, s.entry.front(exe) > 0, s.remote, s.wrong})
	}
	if p.Scope == Local {
		f.Elsewhere = p.Client.elsewhere(c.before.raw, d.page.way()[1])
	}
	return f
}
