package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
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
	for _, r := range ofProgram(smaps, reflect.ValueOf(unmapProgram).Pointer()) {
		// Not unix.Madvise, which wants a slice. What may not go, as it is locked, stays.
		syscall.Syscall(syscall.SYS_MADVISE, r.start, r.end-r.start, syscall.MADV_DONTNEED)
	}
}

// A region is a range of addresses that something is mapped to (proc_pid_smaps(5)).
type region struct {
	start, end uintptr // end is not part of it
	perms      string  // as r-xp
	device     string  // with inode, which file it is of
	inode      uint64  // 0 without a file
	zeros      int     // how many of ownPages there are none of
}

// ownPages are the lines of smaps that count pages which are not the file's but this
// process's own: in memory, and swapped out. A debugger's breakpoint makes a page
// one, and so does a loader that relocates.
var ownPages = []string{"Anonymous:", "Swap:"}

// ofProgram returns the regions that the file with the code at an address has all
// of, so that nothing is lost if they are read from there again. Regions of other
// files may be gone, and something else in their place, when the caller comes to
// them: libraries are loaded and unloaded at any time. Where a system does not count
// a process's own pages, nothing is returned.
func ofProgram(smaps io.Reader, code uintptr) []region {
	all := readRegions(smaps)
	at := slices.IndexFunc(all, func(r region) bool { return r.start <= code && code < r.end })
	if at < 0 {
		return nil
	}
	program := all[at]
	return slices.DeleteFunc(all, func(r region) bool {
		return r.device != program.device || r.inode != program.inode || !r.asInFile()
	})
}

func (r region) asInFile() bool {
	return r.inode != 0 && !strings.Contains(r.perms, "w") && r.zeros == len(ownPages)
}

// readRegions leaves out what ends before it does.
func readRegions(smaps io.Reader) (all []region) {
	var r region
	for lines := bufio.NewScanner(smaps); lines.Scan(); {
		key, value, _ := strings.Cut(lines.Text(), " ")
		switch {
		case strings.Contains(key, "-"): // of addresses
			r = region{}
			var offset string
			fmt.Sscanf(lines.Text(), "%x-%x %s %s %s %d", &r.start, &r.end, &r.perms, &offset, &r.device, &r.inode)
		case slices.Contains(ownPages, key) && strings.TrimSpace(value) == "0 kB":
			r.zeros++
		case key == "VmFlags:": // the last line of each
			all = append(all, r)
		}
	}
	return all
}
