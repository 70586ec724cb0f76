// Package faults lets a test make the n-th operation on files fail, to check that every file on the disk is then whole
// or absent. Outside of tests nothing fails on purpose.
package faults

import (
	"io"
	"sync/atomic"
)

// Operation is a request to the operating system.
type Operation string

// The operations that can be made to fail.
const (
	Create     Operation = "create"
	Write      Operation = "write"
	Sync       Operation = "sync"
	Close      Operation = "close"
	Rename     Operation = "rename"
	Link       Operation = "link"
	Remove     Operation = "remove"
	MakeFolder Operation = "make folder"
	Open       Operation = "open"
	Read       Operation = "read"
	Allocate   Operation = "allocate"
)

// decide is the argument of Inject; nil, as always outside of tests, lets everything succeed.
//
// It belongs to the process and not to a context or an option: files are written and read deep inside commands, by
// packages that are given an io.Writer, and a test must reach all of them without a parameter that users do not have.
var decide atomic.Pointer[func(op Operation, path string) error]

// Inject lets fail decide which operations fail, and with which error, until the returned function is called. It is for
// tests.
func Inject(fail func(op Operation, path string) error) (restore func()) {
	decide.Store(&fail)
	return func() { decide.Store(nil) }
}

// At returns the error with which an operation on the file at path must fail, nil outside of tests.
func At(op Operation, path string) error {
	fail := decide.Load()
	if fail == nil {
		return nil
	}
	return (*fail)(op, path)
}

// Reader returns r, the content of the file at path, with reads that can be made to fail.
func Reader(r io.Reader, path string) io.Reader {
	if decide.Load() == nil {
		return r
	}
	return reader{r, path}
}

type reader struct {
	io.Reader
	path string
}

func (r reader) Read(p []byte) (int, error) {
	if err := At(Read, r.path); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}
