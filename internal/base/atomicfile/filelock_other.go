//go:build !windows

package atomicfile

import (
	"errors"
	"os"
	"syscall"

	"github.com/gofrs/flock"
)

// openFilesMove says whether a file that is open can be renamed and removed.
const openFilesMove = true

type fileLock = flock.Flock

func newFileLock(path string, flag int) *fileLock {
	return flock.New(path, flock.SetFlag(flag), flock.SetPermissions(0o666))
}

// noLocks reports whether an error says that the file system has no locks.
func noLocks(err error) bool {
	return errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.ENOLCK)
}

func rename(from, to string) error { return os.Rename(from, to) }
