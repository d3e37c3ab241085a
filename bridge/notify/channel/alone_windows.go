package channel

import "os/exec"

var shell = [2]string{"cmd.exe", "/C"}

func alone(*exec.Cmd) {}
