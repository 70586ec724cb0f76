//go:build linux || darwin

package source

import (
	"path/filepath"

	"golang.org/x/sys/unix"
)

// freeDisk returns the free bytes in the file system of a file.
func freeDisk(path string) (free int64, ok bool) {
	var stat unix.Statfs_t
	if unix.Statfs(filepath.Dir(path), &stat) != nil {
		return 0, false
	}
	return int64(stat.Bavail) * int64(stat.Bsize), true
}
