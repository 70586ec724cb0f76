// Package bundle packs experiments with what their results need to be checked elsewhere into one archive, NAME.tar.zst:
// their files, pins and records, the version of the program, and of each trace its checksum and source, or the trace.
package bundle

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/cachesim/cachesim/configs"
	"github.com/cachesim/cachesim/internal/base/filestate"
	"github.com/cachesim/cachesim/internal/base/jsonlines"
	"github.com/cachesim/cachesim/internal/experiment"
	"github.com/cachesim/cachesim/internal/experiment/sweep"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/traces/workload"
)

// Suffix ends the name of a bundle.
const Suffix = ".tar.zst"

// The folders of an archive. FormsDir has the files of experiments, and traces where these look for them.
const (
	FormsDir   = "experiments"
	recordsDir = "records"
)

const (
	indexName   = "bundle.json" // the first file
	form        = 1             // of the archive
	largest     = 16 << 20      // bytes of the files of a trace that is packed
	windowBytes = 8 << 20       // of the compression, which readers allow
)

// Bundle is an archive in memory.
type Bundle struct {
	Index
	files map[string][]byte // all but the index, by name
}

// Index says what an archive has.
type Index struct {
	Form        int          `json:"bundle"`
	Program     string       `json:"program"` // version
	Go          string       `json:"go"`
	Experiments []Experiment `json:"experiments"`
	Traces      []Trace      `json:"traces"`
	Files       []File       `json:"files"`
}

type Experiment struct {
	Name    string `json:"name"`
	Title   string `json:"title"`
	Source  string `json:"source"`
	Quick   bool   `json:"quick"` // the records are those of the quick version
	Form    string `json:"form"`  // name of its file
	Pins    string `json:"pins"`  // "" if it has none
	Records string `json:"records"`
}

// Trace is one that experiments read from files.
type Trace struct {
	Name     string   `json:"name"`
	Files    []string `json:"files"`
	Checksum string   `json:"checksum"` // as records have it
	Source   string   `json:"source"`
	Licence  string   `json:"licence"`
	Packed   bool     `json:"packed"`
	Folder   string   `json:"folder"` // of its files in the archive, where the experiment looks for them; "" unless packed
}

type File struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"`
	Size   int64  `json:"size"`
}

// New returns an empty bundle of a version of the program that a version of Go compiled.
func New(program, goVersion string) *Bundle {
	return &Bundle{Index{Form: form, Program: program, Go: goVersion, Traces: []Trace{}}, map[string][]byte{}}
}

// Add adds a finished sweep. The notes say which traces that may be shared are not packed, and why.
func (b *Bundle) Add(s *sweep.Sweep) (notes []string, err error) {
	f := s.File
	e := Experiment{Name: f.Name, Title: f.Title, Source: f.Source, Quick: f.IsQuick(),
		Form: path.Join(FormsDir, f.Name+".yaml"), Records: path.Join(recordsDir, f.Name+".jsonl")}
	text, pins := configs.Text(f.Name), configs.Pins(f.Name)
	if file := f.Path(); file != "" {
		if text, err = experiment.ReadText(file); err != nil {
			return nil, err
		}
		pins, err = filestate.ReadFile(strings.TrimSuffix(file, filepath.Ext(file)) + configs.PinsSuffix)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
	}
	b.files[e.Form] = text
	if pins != nil {
		e.Pins = path.Join(FormsDir, f.Name+configs.PinsSuffix)
		b.files[e.Pins] = pins
	}
	if b.files[e.Records], err = filestate.ReadFile(filepath.Join(s.Dir, records.FileNames()[0])); err != nil {
		return nil, err
	}
	b.Experiments = append(b.Experiments, e)
	for _, c := range s.Cells {
		for _, file := range c.Parts.Files() {
			note := file + " is not packed: it is a file of a policy or another part; publish it beside the archive"
			if !slices.Contains(notes, note) {
				notes = append(notes, note)
			}
		}
	}
	for _, same := range experiment.ByWorkload(experiment.WithoutRepetitions(s.Cells)) {
		note, err := b.addTrace(f, same[0].Workload)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		if note != "" && !slices.Contains(notes, note) {
			notes = append(notes, note)
		}
	}
	return notes, nil
}

// addTrace adds the trace of a workload, unless it is generated or there already.
func (b *Bundle) addTrace(f *experiment.File, w workload.Workload) (note string, err error) {
	at := slices.IndexFunc(f.Traces, func(t experiment.Trace) bool { return t.Name == w.Name })
	t := Trace{Name: w.Name, Files: w.Paths(), Checksum: w.Checksum}
	if at < 0 || t.Checksum == "" || slices.ContainsFunc(b.Traces, func(o Trace) bool {
		return o.Checksum == t.Checksum && slices.Equal(o.Files, t.Files)
	}) {
		return "", nil
	}
	if t.Source, t.Licence, err = sourceOf(f, f.Traces[at], t.Files); err != nil {
		return "", err
	}
	if f.Traces[at].Share {
		if note, err = b.packTrace(&t, path.Join(FormsDir, filepath.ToSlash(f.TracesIn)), f.Dirs()); err != nil {
			return "", err
		}
	}
	b.Traces = append(b.Traces, t)
	return note, nil
}

// Check refuses an experiment with a trace of which nothing says where others find it.
func Check(f *experiment.File) error {
	for _, t := range f.Traces {
		if files := t.Workload().Paths(); len(files) > 0 {
			if _, _, err := sourceOf(f, t, files); err != nil {
				return fmt.Errorf("%s: %w", f.Name, err)
			}
		}
	}
	return nil
}

// sourceOf returns where the files of a trace can be had, and under which licence.
func sourceOf(f *experiment.File, t experiment.Trace, files []string) (source, licence string, err error) {
	if t.Source != "" {
		return t.Source, t.Licence, nil
	}
	if origin, ok := workload.OriginOf(files[0]); ok {
		return origin.Source, origin.Licence, nil
	}
	if f.Path() == "" {
		return "the repository of cachesim", "", nil
	}
	return "", "", fmt.Errorf("trace %s: nothing says where others find %s; add the key source to the trace", t.Name,
		strings.Join(files, ", "))
}

// packTrace packs the files of a trace into a folder of the archive, unless they are large or not to be found below a
// folder of traces.
func (b *Bundle) packTrace(t *Trace, folder string, dirs []string) (note string, err error) {
	size := int64(0)
	places := make([]string, len(t.Files))
	member := func(file string) string { return path.Join(folder, filepath.ToSlash(file)) }
	for i, file := range t.Files {
		if filepath.IsAbs(file) || !isMember(member(file)) || b.files[member(file)] != nil {
			return fmt.Sprintf("trace %s is not packed: %s leads out of the folder of the experiment, or another file has "+
				"its name", t.Name, file), nil
		}
		if places[i], err = workload.Find(file, dirs); err != nil {
			return "", err
		}
		info, err := os.Stat(places[i])
		if err != nil {
			return "", err
		}
		if !info.Mode().IsRegular() {
			return fmt.Sprintf("trace %s is not packed: %s is no file; name its files one by one", t.Name, file), nil
		}
		size += info.Size()
	}
	if size > largest {
		return fmt.Sprintf("trace %s is not packed: it has %d MiB, and at most %d are", t.Name, size>>20, largest>>20), nil
	}
	for i, file := range t.Files {
		content, err := filestate.ReadFile(places[i])
		if err != nil {
			return "", err
		}
		b.files[member(file)] = content
	}
	t.Packed, t.Folder = true, folder
	return "", nil
}

// Places returns where the files of a packed trace are once the bundle is unpacked into a folder.
func (t Trace) Places(unpacked string) (places []string) {
	for _, file := range t.Files {
		places = append(places, filepath.Join(unpacked, filepath.FromSlash(t.Folder), filepath.FromSlash(file)))
	}
	return places
}

// Write writes the archive. The same content gives the same bytes.
func (b *Bundle) Write(to io.Writer) error {
	b.Files = []File{}
	names := slices.Sorted(maps.Keys(b.files))
	for _, name := range names {
		b.Files = append(b.Files, File{name, digest(b.files[name]), int64(len(b.files[name]))})
	}
	index, err := jsonlines.Marshal(b.Index)
	if err != nil {
		return err
	}
	packed, err := zstd.NewWriter(to, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithEncoderConcurrency(1),
		zstd.WithWindowSize(windowBytes))
	if err != nil {
		return err
	}
	archive := tar.NewWriter(packed)
	add := func(name string, content []byte) error {
		err := archive.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content)), Typeflag: tar.TypeReg})
		if err == nil {
			_, err = archive.Write(content)
		}
		return err
	}
	err = add(indexName, append(index, '\n'))
	for _, name := range names {
		if err == nil {
			err = add(name, b.files[name])
		}
	}
	if err == nil {
		err = archive.Close()
	}
	return errors.Join(err, packed.Close())
}

func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}
