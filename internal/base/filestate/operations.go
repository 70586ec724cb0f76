package filestate

import "io"

// Operation is a request to the operating system.
type Operation string

// The operations before which Before is called.
const (
	Create     Operation = "create"
	Write      Operation = "write"
	Sync       Operation = "sync"
	Close      Operation = "close"
	Rename     Operation = "rename"
	Link       Operation = "link"
	Delete     Operation = "delete"
	MakeFolder Operation = "make folder"
	Find       Operation = "find"
	Read       Operation = "read"
)

// Before is called before an operation on the file at a path. The operation fails with its error. Only tests set it.
//
// It belongs to the process and not to a context or an option: files are written and read deep inside commands, by
// packages that are given an io.Writer, and a test must reach all of them without a parameter that users do not have.
var Before = func(op Operation, path string) error { return nil }

// Reader returns r, the content of the file at path, with Before called before each read.
func Reader(r io.Reader, path string) io.Reader { return reader{r, path} }

type reader struct {
	io.Reader
	path string
}

func (r reader) Read(p []byte) (int, error) {
	if err := Before(Read, r.path); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}

// ReadFile returns the content of a regular file.
func ReadFile(path string) ([]byte, error) {
	if err := Before(Find, path); err != nil {
		return nil, err
	}
	file, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(Reader(file, path))
}
