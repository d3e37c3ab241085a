// Package commandline reads the command line that starts an MCP server: what the
// server is called, and what of the line may be shown.
//
// [ID] makes a participant id of it, through the launchers that people start servers
// with (npx, uvx, docker, sh -c and the like); [Program] is the bare name, and
// [Fetcher] what may have to download it. [Public] leaves out what looks like a secret. What
// is one cannot always be told, so a command line is for people at this machine and for files
// that are theirs alone, even then.
//
// It is pure: it starts nothing, reads no file and no environment, and imports nothing
// of ours. Its functions may be called from any goroutine.
package commandline
