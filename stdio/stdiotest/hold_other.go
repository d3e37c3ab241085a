//go:build !linux

package stdiotest

func holdStdin() {}
