package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
)

// unmapProgram takes the pages of the program itself off this process. Only the
// start has run or read most of them: libraries that prepare themselves are spread
// over all of it. They stay in the system's cache of the file, and what is needed
// again is mapped again, some pages at a time.
func unmapProgram() {
	smaps, err := os.Open("/proc/self/smaps")
	if err != nil {
		return // without /proc they stay
	}
	defer smaps.Close()
	for _, m := range asInFile(smaps) {
		syscall.Syscall(syscall.SYS_MADVISE, m.from, m.to-m.from, syscall.MADV_DONTNEED)
	}
}

// A mapped range of addresses goes, from up to but not including to.
type mapped struct {
	from, to uintptr
	perms    string // as r-xp
	inode    uint64 // of its file, 0 without one
}

// asInFile returns what is mapped from a file, may not be written, and is the same
// as in the file: no page of it is this process's own, in memory (Anonymous) or
// swapped out (Swap; proc_pid_smaps(5)). A breakpoint of a debugger is on such a
// page, and so is what a loader relocated. Both have to be counted as 0: where a
// system does not count them, nothing is returned.
func asInFile(smaps io.Reader) []mapped {
	var all []mapped
	var m mapped
	var counted int
	for lines := bufio.NewScanner(smaps); lines.Scan(); {
		word, rest, _ := strings.Cut(lines.Text(), " ")
		switch word {
		case "Anonymous:", "Swap:":
			if strings.TrimSpace(rest) == "0 kB" {
				counted++
			}
		case "VmFlags:": // the last line of each
			if counted == 2 && m.inode != 0 && !strings.Contains(m.perms, "w") {
				all = append(all, m)
			}
			m = mapped{}
		default:
			if head, is := mappedHead(lines.Text()); is {
				m, counted = head, 0
			}
		}
	}
	return all
}

// mappedHead reads the line that a mapping begins with.
func mappedHead(line string) (m mapped, is bool) {
	var offset, device string
	n, _ := fmt.Sscanf(line, "%x-%x %s %s %s %d", &m.from, &m.to, &m.perms, &offset, &device, &m.inode)
	return m, n == 6
}
