package atomicfile

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/windows"
)

// openFilesMove says whether a file that is open can be renamed and removed.
const openFilesMove = false

// farByte is the position of the locked byte. Windows refuses reads and writes of bytes that another handle has locked,
// so it is past the end of any file.
func farByte() *windows.Overlapped {
	return &windows.Overlapped{Offset: 0xfffffffe, OffsetHigh: 0x7fffffff}
}

func lockFile(file *os.File, alone bool) error {
	kind := uint32(windows.LOCKFILE_FAIL_IMMEDIATELY)
	if alone {
		kind |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	return windows.LockFileEx(windows.Handle(file.Fd()), kind, 0, 1, 0, farByte())
}

func isLocked(err error) bool {
	return errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING)
}

func unlockFile(file *os.File) error {
	return windows.UnlockFileEx(windows.Handle(file.Fd()), 0, 1, 0, farByte())
}

// noLocks reports whether an error says that the file system has no locks.
func noLocks(err error) bool {
	return errors.Is(err, windows.ERROR_NOT_SUPPORTED) || errors.Is(err, windows.ERROR_INVALID_FUNCTION)
}

// How long rename waits for others to close a file, and how often it tries again.
const (
	renamePatience = 2 * time.Second
	renameAgain    = 20 * time.Millisecond
)

// rename is os.Rename. A virus scanner or an indexer may have either file open for a moment, in which Windows refuses.
func rename(from, to string) error {
	for patience := time.Now().Add(renamePatience); ; time.Sleep(renameAgain) {
		err := os.Rename(from, to)
		busy := errors.Is(err, windows.ERROR_SHARING_VIOLATION) || errors.Is(err, windows.ERROR_ACCESS_DENIED) ||
			errors.Is(err, windows.ERROR_LOCK_VIOLATION)
		if !busy || time.Now().After(patience) {
			return err
		}
	}
}
