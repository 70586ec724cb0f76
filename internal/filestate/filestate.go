// Package filestate opens regular files, and nothing else, and notices that one changes while it is read, so that no
// result comes from a file that was half written or cut. Whatever is read besides traces goes through Open; traces may
// be pipes. Take the State of a file when it is opened, and ask it when all has been read.
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
	info fs.FileInfo // nil for what is no regular file
	now  func() (fs.FileInfo, error)
}

// Of returns the state of the file that is at path now.
func Of(path string) (State, error) {
	info, err := os.Stat(path)
	if err != nil {
		return State{}, err
	}
	return New(path, info), nil
}

// New returns the state of an open file, which was found at path.
func New(path string, info fs.FileInfo) State {
	return state(path, info, func() (fs.FileInfo, error) { return os.Stat(path) })
}

// OfOpen returns the state of an open file whose path is not known, such as standard input.
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

// Check returns an error if the file at the path is not as it was. A file that is gone is no error, as who has it open
// can read on, nor is what is no regular file.
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
