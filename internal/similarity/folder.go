package similarity

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/internal/base/atomicfile"
	"github.com/cachesim/cachesim/internal/base/filestate"
)

// Folder keeps neighbours in side files, one for each set of vectors and threshold. Several programs may use it at the
// same time.
type Folder string

const fileSuffix = ".neighbours"

// name returns the name of the file of an identity and a threshold. It has the first half of the checksum; the file's
// header has all of it.
func (id Identity) name(from float32) string {
	return fmt.Sprintf("%s%s%s", id.prefix(), strconv.FormatFloat(float64(from), 'g', -1, 32), fileSuffix)
}

func (id Identity) prefix() string { return fmt.Sprintf("%x-", id.Sum[:16]) }

// Load returns the neighbours of an identity's vectors with a similarity of at least from, perhaps with others below
// it; nil if the folder has no such file. An error says which file is wrong and why.
func (f Folder) Load(ctx context.Context, id Identity, from float32) (*Neighbours, error) {
	path, err := f.find(id, from)
	if err != nil || path == "" {
		return nil, err
	}
	file, err := filestate.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	n, err := Read(ctx, file, id, from)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return n, nil
}

// find returns the file with the highest threshold up to from, "" if the folder has none.
func (f Folder) find(id Identity, from float32) (path string, err error) {
	entries, err := os.ReadDir(string(f))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	best := float32(0)
	for _, e := range entries {
		text, ours := strings.CutPrefix(e.Name(), id.prefix())
		text, whole := strings.CutSuffix(text, fileSuffix)
		threshold, bad := strconv.ParseFloat(text, 32)
		if t := float32(threshold); ours && whole && bad == nil && t <= from && (path == "" || t > best) {
			path, best = filepath.Join(string(f), e.Name()), t
		}
	}
	return path, err
}

// Save keeps the neighbours of the vectors of an identity.
func (f Folder) Save(n *Neighbours, id Identity) error {
	if err := atomicfile.MakeFolder(string(f)); err != nil {
		return err
	}
	return atomicfile.WriteIn(string(f), id.name(n.From), func(w io.Writer) error { return n.Write(w, id) })
}
