package main

import "os"

func lives(pid int) bool {
	_, err := os.FindProcess(pid)
	return err == nil
}
