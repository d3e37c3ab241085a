// Package install edits the configuration files of desktop clients: it puts the
// bridge in as an MCP server, puts it in front of one that is there, and takes
// either back.
//
// A file is somebody else's work, so it is edited by position and never written
// anew from what it says: comments, order, indentation, line ends, a byte order
// mark and keys nobody here has heard of stay what they are, byte for byte,
// outside the entry that is meant. JSON (with comments and trailing commas, as
// editors write it), TOML and YAML are read. Whatever an edit would do is read
// back before it is written: if it says anything else than what was meant,
// nothing is written.
//
//	Place.Install, Wrap, Unwrap, History.Undo -> Change -> History.Apply
//
// A [Change] has been thought through, and nothing has happened yet: it can be
// shown ([Change.Diff]). [History.Apply] keeps what the file was and what it
// becomes, then gives the file its new contents whole. It notices when somebody
// else wrote the file in between; it takes no lock on it, because the clients
// take none either. Two programs that use one History at once must agree among
// themselves who goes first.
package install
