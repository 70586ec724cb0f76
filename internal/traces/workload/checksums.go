package workload

import (
	"context"
	"fmt"
	"strings"

	"github.com/cachesim/cachesim/internal/base/suggest"
)

// FileChangedError says that files that parts read, such as weights, do not match the recorded or planned checksum.
type FileChangedError struct {
	Files     []string
	Want, Got string
}

func (e *FileChangedError) Error() string {
	return fmt.Sprintf("%s: the file has changed: its checksum is %s, the recorded one is %s",
		suggest.List(e.Files), e.Got, e.Want)
}

// Checksums has the checksums of the files of parts by path, so that each file is read once.
type Checksums map[string]string

// Of returns the checksum of files, "" for none.
func (known Checksums) Of(ctx context.Context, files []string) (sum string, err error) {
	if len(files) == 0 {
		return "", nil
	}
	key := strings.Join(files, "\n")
	if sum, ok := known[key]; ok {
		return sum, nil
	}
	if sum, err = ChecksumOf(ctx, files); err == nil {
		known[key] = sum
	}
	return sum, err
}

// Put records a checksum that is known from elsewhere; "" is none.
func (known Checksums) Put(files []string, sum string) {
	if sum != "" {
		known[strings.Join(files, "\n")] = sum
	}
}

// Check returns a FileChangedError if files do not have the given checksum; "" accepts any.
func (known Checksums) Check(ctx context.Context, files []string, want string) error {
	if want == "" {
		return nil
	}
	got, err := known.Of(ctx, files)
	if err == nil && got != want {
		err = &FileChangedError{files, want, got}
	}
	return err
}
