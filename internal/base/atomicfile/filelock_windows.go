package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/windows"
)

// openFilesMove says whether a file that is open can be renamed and removed.
const openFilesMove = false

// fileLock is a lock on a file. Windows refuses reads and writes of bytes that another handle has locked, so the lock
// is on a byte past the end of any file. (Package flock, which other systems use, locks the first byte.)
type fileLock struct {
	path string
	flag int
	file *os.File // nil while nothing is locked
}

func newFileLock(path string, flag int) *fileLock { return &fileLock{path: path, flag: flag} }

// farByte is the position of the locked byte.
func farByte() *windows.Overlapped {
	return &windows.Overlapped{Offset: 0xfffffffe, OffsetHigh: 0x7fffffff}
}

// TryLock locks the file for this program alone. It returns false at once if another has a lock.
func (l *fileLock) TryLock() (bool, error) { return l.try(windows.LOCKFILE_EXCLUSIVE_LOCK) }

// TryRLock locks the file together with others that call TryRLock.
func (l *fileLock) TryRLock() (bool, error) { return l.try(0) }

func (l *fileLock) try(kind uint32) (bool, error) {
	file, err := os.OpenFile(l.path, l.flag, 0o666)
	if err != nil {
		return false, err
	}
	err = windows.LockFileEx(windows.Handle(file.Fd()), kind|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, farByte())
	if err == nil {
		l.file = file
		return true, nil
	}
	file.Close()
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return false, nil
	}
	return false, err
}

// Unlock lets others lock the file. It does nothing if the file is not locked.
func (l *fileLock) Unlock() error {
	if l.file == nil {
		return nil
	}
	err := windows.UnlockFileEx(windows.Handle(l.file.Fd()), 0, 1, 0, farByte())
	err = errors.Join(err, l.file.Close())
	l.file = nil
	return err
}

func (l *fileLock) Stat() (fs.FileInfo, error) { return l.file.Stat() }

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
