// Package filestate opens regular files only, and notices if a file changes while it is read, so that no result comes
// from a half-written or truncated file. All files except traces are opened with Open; traces may be pipes. Take the
// State of a file when it is opened, and check it when everything has been read.
package filestate

import (
	"fmt"
	"io/fs"
	"os"
	"time"
)

// State is what a file looked like when it was opened.
type State struct {
	path string
	info fs.FileInfo // nil for anything but a regular file
	now  func() (fs.FileInfo, error)
}

// Of returns the state of the file that is currently at path.
func Of(path string) (State, error) {
	info, err := os.Stat(path)
	if err != nil {
		return State{}, err
	}
	return New(path, info), nil
}

// New returns the state of an open file that was found at path.
func New(path string, info fs.FileInfo) State {
	return state(path, info, func() (fs.FileInfo, error) { return os.Stat(path) })
}

// OfOpen returns the state of an open file whose path is unknown, as of standard input.
func OfOpen(name string, file *os.File) State {
	info, err := file.Stat()
	if err != nil {
		return State{path: name}
	}
	return state(name, info, file.Stat)
}

func state(path string, info fs.FileInfo, now func() (fs.FileInfo, error)) State {
	if !info.Mode().IsRegular() {
		return State{path: path}
	}
	return State{path, info, now}
}

// Check returns an error if the file at the path has changed. A deleted file is not an error, because an open one can
// still be read, nor is anything but a regular file.
func (s State) Check() error {
	if s.info == nil {
		return nil
	}
	now, err := s.now()
	if err != nil {
		return nil
	}
	const advice = "read it again when nothing writes to it, or a copy of it"
	switch was := s.info; {
	case !os.SameFile(was, now):
		return fmt.Errorf("%s: was replaced by another file while it was read: %s", s.path, advice)
	case now.Size() != was.Size():
		return fmt.Errorf("%s: changed while it was read, from %d bytes to %d: %s", s.path, was.Size(), now.Size(),
			advice)
	case !now.ModTime().Equal(was.ModTime()):
		return fmt.Errorf("%s: changed while it was read, at %s: %s", s.path, now.ModTime().Format(time.TimeOnly),
			advice)
	}
	return nil
}
