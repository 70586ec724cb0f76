package compare

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/filestate"
	"github.com/cachesim/cachesim/internal/base/suggest"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/results/peers"
)

// Open reads the results of a source: a file of records (JSON lines, CSV, Parquet) or of another simulator, a folder
// that run -o wrote, a folder of such files and folders, or stdin if the path is "-". Everything is recognised by
// content.
func Open(s Source, stdin io.Reader) (*Run, error) {
	r := &Run{Name: s.Name, path: s.Path}
	if err := r.open(s, stdin); err != nil {
		return nil, err
	}
	if s.Trace != "" {
		if err := r.nameTraces(s.Trace); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func (r *Run) open(s Source, stdin io.Reader) error {
	if s.Path == "-" {
		data, err := readResults(stdin, mostBytes)
		if err != nil {
			return fmt.Errorf("standard input: %w", err)
		}
		return r.parse("standard input", data, s.Options)
	}
	info, err := os.Stat(s.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s does not exist; want a file of results, or a folder that run -o wrote", s.Path)
	case err != nil:
		return err
	case info.IsDir() && !hasRecords(s.Path):
		return r.readFolder(s)
	case info.IsDir():
		return r.readRecords(s.Path)
	}
	data, err := readAll(s.Path)
	if err != nil {
		return err
	}
	return r.parse(s.Path, data, s.Options)
}

// readRecords reads a folder that run -o wrote.
func (r *Run) readRecords(dir string) error {
	recs, err := records.Read(dir, nil)
	if err == nil {
		r.add(dir, recs)
	}
	return err
}

// hasRecords reports whether run -o wrote into the folder.
func hasRecords(dir string) bool {
	return slices.ContainsFunc(records.FileNames(), func(name string) bool { return exists(filepath.Join(dir, name)) })
}

// readFolder reads a folder of runs, or of results of another simulator. Files without results are left out: there may
// be figures among them.
func (r *Run) readFolder(s Source) error {
	entries, err := os.ReadDir(s.Path)
	if err != nil {
		return err
	}
	var others []string
	var theirs, combined peers.Results // the latter repeat others
	for _, e := range entries {
		path := filepath.Join(s.Path, e.Name())
		switch {
		case e.IsDir() && hasRecords(path):
			if err := r.readRecords(path); err != nil {
				return err
			}
		case e.Type().IsRegular() && !strings.HasPrefix(e.Name(), "."):
			if err := r.readOneOf(path, s.Options, &theirs, &combined); errors.Is(err, errNothing) {
				others = append(others, e.Name())
			} else if err != nil {
				return err
			}
		}
	}
	if len(theirs.Rows) == 0 {
		theirs = combined
	}
	if len(theirs.Rows) > 0 {
		r.addTheirs(s.Path, &theirs)
	}
	if len(r.results) == 0 {
		return fmt.Errorf("folder %s contains no results: want %s of a run, folders of runs, or results of another "+
			"simulator", s.Path, suggest.List(records.FileNames()))
	}
	if len(others) > 0 {
		r.note("%s: files without results: %s", s.Path, suggest.List(others))
	}
	return nil
}

// mostBytes is the size beyond which a file has no results of other simulators, and is not looked at in a folder:
// results are small, traces are not.
const mostBytes = 256 << 20

// readOneOf reads a file of a folder: errNothing if it has no results. Those of other simulators are added to theirs
// or, if they are a combined report, to combined.
func (r *Run) readOneOf(path string, o peers.Options, theirs, combined *peers.Results) error {
	if info, err := os.Stat(path); err == nil && info.Size() > mostBytes {
		return errNothing
	}
	data, err := readAll(path)
	if err != nil {
		return err
	}
	if records.Recognises(data) && slices.Contains(recordEndings, filepath.Ext(path)) {
		return r.parse(path, data, o)
	}
	parsed, err := peers.Parse(path, data, o)
	switch {
	case errors.As(err, new(*peers.UnknownError)):
		return errNothing
	case err != nil:
		return err
	case parsed.Combined:
		combined.Add(parsed)
	default:
		theirs.Add(parsed)
	}
	return nil
}

// recordEndings are the endings of files that must have records if they begin like them.
var recordEndings = []string{".jsonl", ".csv", ".parquet"}

func (r *Run) parse(name string, data []byte, o peers.Options) error {
	if records.Recognises(data) {
		recs, err := records.ReadFrom(name, bytes.NewReader(data))
		r.add(name, recs)
		return err
	}
	theirs, err := peers.Parse(name, data, o)
	if err != nil {
		return err
	}
	r.addTheirs(name, theirs)
	return nil
}

func readAll(path string) ([]byte, error) {
	f, err := filestate.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := readResults(filestate.Reader(f, path), mostBytes)
	if errors.Is(err, errTooLarge) {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return data, err
}

var errTooLarge = fmt.Errorf("more than %d MiB, and no records of this program; want results, not a trace",
	mostBytes>>20)

// readResults reads all of a file: that of another simulator up to a number of bytes, beyond which it is no result.
func readResults(from io.Reader, most int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(from, most+1))
	if err != nil || int64(len(data)) <= most {
		return data, err
	}
	if !records.Recognises(data) {
		return nil, errTooLarge
	}
	rest, err := io.ReadAll(from)
	return append(data, rest...), err
}
