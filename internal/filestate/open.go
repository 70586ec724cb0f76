package filestate

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// Open opens a regular file to be read. A directory, a pipe, a device and a socket are errors at once: a pipe may wait
// for ever, and a device may never end.
func Open(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if err := checkRegular(path, info); err != nil {
		return nil, err
	}
	// Something else may have taken its place. Without O_NONBLOCK a pipe that nobody writes to would wait here already.
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err = file.Stat()
	if err == nil {
		err = checkRegular(path, info)
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

func checkRegular(path string, info fs.FileInfo) error {
	if info.Mode().IsRegular() {
		return nil
	}
	return fmt.Errorf("%s: is a %s: want a regular file", path, kindOf(info.Mode()))
}

// kindOf says what is no regular file.
func kindOf(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "folder"
	case mode&fs.ModeNamedPipe != 0:
		return "pipe"
	case mode&fs.ModeSocket != 0:
		return "socket"
	case mode&fs.ModeDevice != 0:
		return "device"
	}
	return "special file"
}
