//go:build unix && !linux

package stdio

import "syscall"

// attributes: a group of its own. If we end without a chance to stop it, it
// must notice the end of its stdin.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
