//go:build !unix

package programs_test

import "os"

// runs reports whether a process runs.
func runs(pid int) bool {
	_, err := os.FindProcess(pid)
	return err == nil
}
