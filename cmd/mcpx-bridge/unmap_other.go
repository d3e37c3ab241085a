//go:build !linux

package main

// unmapProgram does nothing: only Linux says which pages are still the file's.
func unmapProgram() {}
