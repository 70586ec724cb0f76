package report

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/configs"
	"github.com/cachesim/cachesim/internal/base/atomicfile"
	"github.com/cachesim/cachesim/internal/base/filestate"
	"github.com/cachesim/cachesim/internal/experiment"
	"github.com/cachesim/cachesim/internal/experiment/checks"
	"github.com/cachesim/cachesim/internal/experiment/pins"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/sim"
)

// heldToPins compares an experiment with its pins: those that come with the program, or the file beside its own. One
// that a user has changed has none.
func heldToPins(f *experiment.File, s Summary) ([]string, error) {
	if f.IsChanged() {
		return nil, nil
	}
	var pinned pins.Pins
	var err error
	if path := f.Path(); path == "" {
		pinned, err = pins.Read(bytes.NewReader(configs.Pins(f.Name)))
	} else {
		pinned, err = readPins(strings.TrimSuffix(path, filepath.Ext(path)) + configs.PinsSuffix)
	}
	if err != nil {
		return nil, err
	}
	return pinned.Moved(s.measured()), nil
}

// readPins reads a file, which need not exist.
func readPins(path string) (pins.Pins, error) {
	file, err := filestate.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return pins.Pins{}, nil
	}
	if err != nil {
		return pins.Pins{}, err
	}
	defer file.Close()
	p, err := pins.Read(file)
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return p, err
}

// digest returns that of the records that are the same for every seed of their policy and its parts.
func digest(recs []records.Record) string {
	sure := slices.DeleteFunc(slices.Clone(recs), func(r records.Record) bool { return sim.DependsOnSeed(&r) })
	return records.DigestOfResults(sure)
}

// measured is what can be pinned.
func (s Summary) measured() pins.Measured {
	m := pins.Measured{Quick: s.Quick, Digest: s.Digest}
	for _, c := range s.Claims {
		m.Claims = append(m.Claims, pins.Claim{Text: c.Claim, Quantities: c.quantities})
	}
	return m
}

// movedText lists what has moved, or the first of it; nil if nothing has.
func (s Summary) movedText() []string {
	if len(s.Moved) == 0 {
		return nil
	}
	return []string{"moved since it was pinned: " + checks.Named(s.Moved, checks.MostNamed)}
}

// Pin writes the file of the experiment's pins into a folder; those of the other version stay. why is the reason for
// those that move; "" is an error if one does. It returns the path of the file.
func (s Summary) Pin(ctx context.Context, folder, program, on, why string) (path string, err error) {
	name := s.Name
	if s.File != "" {
		name = strings.TrimSuffix(filepath.Base(s.File), filepath.Ext(s.File))
	}
	path = filepath.Join(folder, name+configs.PinsSuffix)
	before, err := readPins(path)
	if err != nil {
		return "", err
	}
	after, err := before.Update(s.measured(), program, on, why)
	if err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	return path, atomicfile.Write(ctx, path, func(w io.Writer) error { return after.Write(w) })
}
