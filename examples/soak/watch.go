//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/examples/stage"
)

// A holding is what one process holds, as the system tells it.
type holding struct {
	resident    int64 // bytes
	heap        int64 // bytes that were alive when last garbage was collected
	descriptors int
	threads     int
	children    int
	goroutines  int // only known at its end
}

// traced has a program of Go say on stderr what each collection of garbage left.
const traced = "gctrace=1"

var collected = regexp.MustCompile(`(?m)^gc \d+ @.* \d+->\d+->(\d+) MB`)

// aliveIn reads the last collection that a process told of.
func aliveIn(stderr string) int64 {
	all := collected.FindAllStringSubmatch(stderr[max(0, len(stderr)-8<<10):], -1)
	if len(all) == 0 {
		return 0
	}
	n, _ := strconv.ParseInt(all[len(all)-1][1], 10, 64)
	return n << 20
}

// holds looks at a process.
func holds(p *stage.Process) (h holding, err error) {
	h.heap = aliveIn(p.Stderr())
	dir := filepath.Join("/proc", strconv.Itoa(p.PID))
	status, err := os.ReadFile(filepath.Join(dir, "status"))
	if err != nil {
		return h, err
	}
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		n, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
		switch name {
		case "VmRSS":
			h.resident = n << 10
		case "Threads":
			h.threads = int(n)
		}
	}
	fds, err := os.ReadDir(filepath.Join(dir, "fd"))
	h.descriptors, h.children = len(fds), len(childrenOf(p.PID))
	return h, err
}

// childrenOf are the processes that a process has started and that live.
func childrenOf(pid int) (all []int) {
	processes, _ := filepath.Glob("/proc/[0-9]*")
	for _, name := range processes {
		child, _ := strconv.Atoi(filepath.Base(name))
		if state, parent := standing(child); parent == pid && state != "Z" {
			all = append(all, child)
		}
	}
	return all
}

// lives reports whether a process is there and has not ended: who is to collect
// its exit code may be in no hurry.
func lives(pid int) bool {
	state, _ := standing(pid)
	return state != "" && state != "Z"
}

// standing is the state of a process, "" if there is none, and its parent.
func standing(pid int) (state string, parent int) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", 0
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:])) // state, parent, …
	if len(fields) < 2 {
		return "", 0
	}
	parent, _ = strconv.Atoi(fields[1])
	return fields[0], parent
}

// stacks makes a process tell its goroutines, which ends it, and counts them.
func stacks(p *stage.Process) (n int, err error) {
	if err := p.Signal(syscall.SIGQUIT); err != nil {
		return 0, err
	}
	if _, err := p.End(); err != nil {
		return 0, err
	}
	for line := range strings.Lines(p.Stderr()) {
		if strings.HasPrefix(line, "goroutine ") && strings.HasSuffix(line, "]:\n") {
			n++
		}
	}
	if n == 0 {
		err = fmt.Errorf("it tells no goroutines:\n%s", p.Stderr())
	}
	return n, err
}

// A sample is what bridge and gateway held at a moment.
type sample struct {
	at              time.Time
	calls           int // made until then
	bridge, gateway holding
}

// slope is by how much y grows with x: least squares.
func slope(x, y []float64) float64 {
	mx, my := mean(x), mean(y)
	var xy, xx float64
	for i := range x {
		xy += (x[i] - mx) * (y[i] - my)
		xx += (x[i] - mx) * (x[i] - mx)
	}
	if xx == 0 {
		return 0
	}
	return xy / xx
}

func mean(v []float64) (m float64) {
	for _, one := range v {
		m += one / float64(len(v))
	}
	return m
}
