//go:build unix

package atomicfile

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/cachesim/cachesim/internal/base/testing/must"
)

// In an output folder a pipe is replaced, while one that the user names is written.
func TestPipeInAFolderIsNotOpened(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip(err)
	}
	read := make(chan string, 1)
	go func() {
		content, _ := os.ReadFile(pipe)
		read <- string(content)
	}()
	must.Do(t, Write(t.Context(), pipe, text("through the pipe")))
	if got := <-read; got != "through the pipe" {
		t.Errorf("read %q", got)
	}
	must.Do(t, WriteIn(dir, "pipe", text("file")))
	if info, err := os.Lstat(pipe); err != nil || !info.Mode().IsRegular() || mustRead(t, pipe) != "file" {
		t.Errorf("%v, %v", info, err)
	}
}

// /dev/stdout is a link, too, and must stay one, wherever standard output goes.
func TestOutputsOfTheProcess(t *testing.T) {
	if os.Getenv("ATOMICFILE_STDOUT") != "" {
		must.Do(t, Write(t.Context(), "/dev/stdout", text("out")))
		os.Exit(0)
	}
	before, err := os.Readlink("/dev/stdout")
	if err != nil {
		t.Skip(err)
	}
	path := filepath.Join(t.TempDir(), "file")
	file, err := os.Create(path)
	must.Do(t, err)
	defer file.Close()
	child := exec.Command(os.Args[0], "-test.run=^TestOutputsOfTheProcess$")
	child.Env, child.Stdout = append(os.Environ(), "ATOMICFILE_STDOUT=1"), file
	must.Do(t, child.Run())
	after, err := os.Readlink("/dev/stdout")
	if err != nil || after != before || mustRead(t, path) != "out" {
		t.Errorf("/dev/stdout leads to %q, before to %q (%v); the file holds %q", after, before, err, mustRead(t, path))
	}
}

// What a killed program leaves is removed, what a running one is writing is not.
func TestLeftoversAreRemoved(t *testing.T) {
	if dir := os.Getenv("ATOMICFILE_KILLED"); dir != "" {
		must.Get(Create(t.Context(), filepath.Join(dir, "killed")))(t)
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	dir := t.TempDir()
	running := must.Get(Create(t.Context(), filepath.Join(dir, "running")))(t)
	child := exec.Command(os.Args[0], "-test.run=^TestLeftoversAreRemoved$")
	child.Env = append(os.Environ(), "ATOMICFILE_KILLED="+dir)
	if err := child.Run(); err == nil {
		t.Fatal("the child was not killed")
	}
	foreign := filepath.Join(dir, temporaryPrefix+"0badcafe-x"+temporarySuffix)
	old := filepath.Join(dir, temporaryPrefix+"0badcafe-y"+temporarySuffix)
	for _, path := range []string{foreign, old} {
		must.Do(t, os.WriteFile(path, nil, 0o644))
	}
	long := time.Now().Add(-2 * leftoverAge)
	must.Do(t, os.Chtimes(old, long, long))
	searched.Delete(dir) // as in a new program
	must.Do(t, WriteIn(dir, "new", text("new")))
	if err := running.Commit(); err != nil {
		t.Errorf("the file of a running program was removed: %v", err)
	}
	wantNames(t, dir, filepath.Base(foreign), "new", "running")
}

// A program that starts looks for leftovers while others write, as the shards of a sweep do.
func TestFilesBeingCreatedAreNoLeftovers(t *testing.T) {
	dir := t.TempDir()
	const writers, files = 4, 500
	errs := make(chan error, writers)
	for w := range writers {
		go func() {
			var all []error
			for i := range files {
				all = append(all, WriteNew(dir, fmt.Sprintf("%d-%d", w, i), []byte("whole")))
			}
			errs <- errors.Join(all...)
		}()
	}
	for ended := 0; ended < writers; {
		select {
		case err := <-errs:
			if err != nil {
				t.Error(err)
			}
			ended++
		default:
			removeLeftoversNow(dir)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != writers*files {
		t.Errorf("%d files, want %d (%v)", len(entries), writers*files, err)
	}
}

// Programs that share a folder come and go; none gets the error that another has it alone.
func TestSharingAFolderThatOthersLeave(t *testing.T) {
	dir := t.TempDir()
	errs := make(chan error, 4)
	for range cap(errs) {
		go func() {
			var all []error
			for range 500 {
				lock, err := ShareFolder(dir)
				if err == nil {
					lock.Unlock()
				}
				all = append(all, err)
			}
			errs <- errors.Join(all...)
		}()
	}
	for range cap(errs) {
		if err := <-errs; err != nil {
			t.Errorf("%.300v", err)
		}
	}
}

func TestSpoolLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	spool := must.Get(NewSpool(dir))(t)
	wantNames(t, dir)
	must.Get(spool.Write([]byte("kept")))(t)
	content := make([]byte, 4)
	if _, err := spool.ReadAt(content, 0); err != nil || string(content) != "kept" {
		t.Errorf("read %q, %v", content, err)
	}
	spool.Discard()
	wantNames(t, dir)
}
