// Mcpb packs the bridge for desktop clients that install a server from one file
// (MCP 3.4): an .mcpb is a zip of a manifest and a program. A bundle is for one
// system and one processor, because a manifest can tell systems apart only.
//
//	go run ./cmd/mcpb -binary bin/mcpx-bridge -os darwin -version 1.2.3 -o bin/mcpx-bridge.mcpb
package main

import (
	"archive/zip"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"
)

func main() {
	binary := flag.String("binary", "bin/mcpx-bridge", "the program, built for the system")
	goos := flag.String("os", "", "its system: darwin, linux or windows")
	version := flag.String("version", "0.0.0-dev", "its version, as in 1.2.3")
	out := flag.String("o", "bin/mcpx-bridge.mcpb", "the bundle to write")
	flag.Parse()
	if err := bundle(*out, *binary, *goos, *version); err != nil {
		fmt.Fprintln(os.Stderr, "mcpb:", err)
		os.Exit(1)
	}
}

// bundle writes a file that is whole or not there. The same program makes the
// same bytes.
func bundle(out, binary, goos, version string) error {
	m, err := describe(goos, version)
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	program, err := os.Open(binary)
	if err != nil {
		return err
	}
	defer program.Close()
	f, err := os.Create(out + ".tmp")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // in vain once it has its name
	z := zip.NewWriter(f)
	err = errors.Join(put(z, "manifest.json", 0o644, append(text, '\n')), copyInto(z, m.Server.EntryPoint, program), z.Close(), f.Close())
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), out)
}

func put(z *zip.Writer, name string, mode os.FileMode, text []byte) error {
	w, err := create(z, name, mode)
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}

func copyInto(z *zip.Writer, name string, from io.Reader) error {
	w, err := create(z, name, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, from)
	return err
}

func create(z *zip.Writer, name string, mode os.FileMode) (io.Writer, error) {
	h := &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)}
	h.SetMode(mode)
	return z.CreateHeader(h)
}
