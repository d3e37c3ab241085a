//go:build !linux

package main

// keepToOurselves needs Linux. Elsewhere the system decides what processes of one
// user may read of each other.
func keepToOurselves() {}
