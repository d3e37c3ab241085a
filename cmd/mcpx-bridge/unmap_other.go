//go:build !linux

package main

// unmapProgram does nothing: this is not Linux.
func unmapProgram() {}
