//go:build !unix

package programs

import "os/exec"

func inGroup(*exec.Cmd) {}

// kill ends a program that runs.
func kill(c *exec.Cmd) { c.Process.Kill() }
