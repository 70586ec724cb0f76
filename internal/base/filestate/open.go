package filestate

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// Open opens a regular file for reading. A directory, a pipe, a device and a socket are errors at once: a pipe may
// block for ever, and a device may never end.
func Open(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if err := checkRegular(path, info); err != nil {
		return nil, err
	}
	return open(path, os.O_RDONLY)
}

// Append opens a regular file to write at its end, and creates it if it does not exist.
func Append(path string) (*os.File, error) { return open(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE) }

// open opens a regular file. Something else may have taken its place since it was looked at: without O_NONBLOCK,
// opening a pipe without a writer would block here.
func open(path string, flags int) (*os.File, error) {
	file, err := os.OpenFile(path, flags|syscall.O_NONBLOCK, 0o644)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
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

// kindOf names the kind of a file that is not regular.
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
