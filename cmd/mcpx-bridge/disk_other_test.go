//go:build !linux

package main

func playTinyDisk() {}
