package stdio

import (
	"os"
	"os/exec"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// A group is the process and its descendants: here, a job object that ends
// with its last handle, ours. A process started before the job was assigned,
// in the first moments of the leader, is not in it.
type group struct {
	leader uint32

	mu     sync.Mutex
	job    windows.Handle // guarded by mu once started
	reaped bool           // guarded by mu
}

func (g *group) prepare(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return
	}
	limits := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{
		BasicLimitInformation: windows.JOBOBJECT_BASIC_LIMIT_INFORMATION{
			LimitFlags: windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE,
		},
	}
	if _, err := windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits))); err != nil {
		windows.CloseHandle(job)
		return
	}
	g.job = job
}

func (g *group) started(p *os.Process) {
	g.leader = uint32(p.Pid)
	p.WithHandle(func(h uintptr) { windows.AssignProcessToJobObject(g.job, windows.Handle(h)) })
}

// terminate is the nearest there is to a TERM.
func (g *group) terminate() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.reaped {
		return
	}
	windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, g.leader)
}

func (g *group) kill() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.job != 0 {
		windows.TerminateJobObject(g.job, 1)
	}
}

// close is called with mu held, or before anything was started.
func (g *group) close() {
	if g.job != 0 {
		windows.CloseHandle(g.job)
		g.job = 0
	}
}

func signalOf(*os.ProcessState) (string, int) { return "", 0 }
