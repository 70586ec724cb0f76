//go:build !windows

package atomicfile

import (
	"errors"
	"os"
	"syscall"
)

// openFilesMove says whether a file that is open can be renamed and removed.
const openFilesMove = true

func lockFile(file *os.File, alone bool) error {
	kind := syscall.LOCK_SH
	if alone {
		kind = syscall.LOCK_EX
	}
	for {
		err := syscall.Flock(int(file.Fd()), kind|syscall.LOCK_NB)
		if err != syscall.EINTR {
			return err
		}
	}
}

func isLocked(err error) bool { return err == syscall.EWOULDBLOCK }

// unlockFile does nothing: closing the file unlocks it.
func unlockFile(*os.File) error { return nil }

// noLocks reports whether an error says that the file system has no locks.
func noLocks(err error) bool {
	return errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.ENOLCK)
}

func rename(from, to string) error { return os.Rename(from, to) }
