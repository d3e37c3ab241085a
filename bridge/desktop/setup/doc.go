// Package setup is what a person needs beside package install to put the bridge into a desktop
// client: where this person's files are ([Machine], [PlaceOf]), by which path a client finds
// this program ([OwnPath]), how a command is written so that it means the same in the
// directory that the client chooses ([FromHere], [FromAnywhere]), which scope has a server that
// was looked for elsewhere, and what was found or changed, as JSON and in words.
//
// It looks at files and changes none: package install does. [Lock] lets one process of a
// person at a time do so. The environment, and how programs are looked for, are given to it.
// Errors are *fault.Error or *install.Error, with hints that name flags of the command line.
package setup
