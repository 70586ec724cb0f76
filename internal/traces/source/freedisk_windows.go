package source

import (
	"path/filepath"

	"golang.org/x/sys/windows"
)

// freeDisk returns the bytes that are free in the file system of a file.
func freeDisk(path string) (free int64, ok bool) {
	dir, err := windows.UTF16PtrFromString(filepath.Dir(path))
	if err != nil {
		return 0, false
	}
	var left uint64 // to this user
	if windows.GetDiskFreeSpaceEx(dir, &left, nil, nil) != nil {
		return 0, false
	}
	return int64(left), true
}
