//go:build unix

package programs

import (
	"os/exec"
	"syscall"
)

// inGroup gives a program, and those that it starts, a group of their own: the interrupt of a terminal does not reach
// them, and they end together.
func inGroup(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// kill ends a program that runs, and those that it has started.
func kill(c *exec.Cmd) {
	if syscall.Kill(-c.Process.Pid, syscall.SIGKILL) != nil {
		c.Process.Kill()
	}
}
