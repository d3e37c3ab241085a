package main

import "io"

// pipes returns a client's input and output as they are.
func pipes(in io.Reader, out io.Writer) (io.Reader, io.Writer, func()) { return in, out, func() {} }
