// Package workload describes what is replayed and where it comes from: trace files and how they are read, or a
// generator. A Workload can be written into a record and read back, so that a replay can be repeated.
package workload

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/filestate"
	"github.com/cachesim/cachesim/internal/base/llm"
	"github.com/cachesim/cachesim/internal/base/parallel"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/attention"
	"github.com/cachesim/cachesim/internal/traces/embed"
	"github.com/cachesim/cachesim/internal/traces/gen"
	"github.com/cachesim/cachesim/internal/traces/prompts"
	"github.com/cachesim/cachesim/internal/traces/queries"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/read/formats"
	"github.com/cachesim/cachesim/internal/traces/sizes"
	"github.com/cachesim/cachesim/internal/traces/source"
)

// Env is the environment variable that names a folder with traces, which is searched for files that are not at their
// path.
const Env = "CACHESIM_TRACES"

// Workload is everything that determines the requests of a trace. Either Files or Generator is set.
type Workload struct {
	Name      string   `json:"name,omitempty"` // in records; "" takes it from the files or the generator
	Files     []string `json:"files,omitempty"`
	Generator string   `json:"generator,omitempty"` // "zipf(alpha=0.9)", as package gen reads it
	traces.Selection
	// Embeddings of queries: a file (.npy or .fvecs) with a row for each request of Files or, with
	// "queries.npy:rows=distinct", for each distinct one; or a built-in embedder with its parameters, such as
	// "lexical(dim=384)". "": the trace's own, or embed.Default's if it has only texts.
	Embeddings string `json:"embeddings,omitempty"`
	// KV describes the keys and values of prompts for package llm, such as "model=llama-3.1-70b,type=fp8"; "": they are
	// unknown, and capacities count blocks.
	KV string `json:"kv,omitempty"`
	// Answers is how answers to prompts are replayed, one of prompts.AnswerModes but the first, which is "".
	Answers string `json:"answers,omitempty"`
	// Checksum is of all files in Paths, as ReadChecksum returns it; "" accepts any.
	Checksum string `json:"checksum,omitempty"`
}

// MissingError says that a trace file was not found.
type MissingError struct {
	Path string
	Dirs []string // other folders that were searched
	What string   // kind of file; "" for a trace
	From string   // "; it is from ...", as an experiment says; "" if it does not
}

func (e *MissingError) Error() string {
	s := e.Path + ": no such " + cmp.Or(e.What, "trace file")
	if len(e.Dirs) > 0 {
		s += ", and not in " + strings.Join(e.Dirs, ", ") + " either"
	}
	s += "; " + Env + " can name the folder that holds it" + e.From
	if origin, ok := OriginOf(e.Path); ok {
		s += "\n" + origin.String()
	}
	return s
}

// ChangedError says that the files do not match the checksum.
type ChangedError struct {
	Files     []string
	Want, Got string
}

func (e *ChangedError) Error() string {
	return fmt.Sprintf("%s: the trace has changed: its checksum is %s, the recorded one is %s", strings.Join(e.Files,
		", "), e.Got, e.Want)
}

// Dirs returns the folders that are searched for traces: first, if it is not "", then the folder that Env names.
func Dirs(first string) (dirs []string) {
	for _, dir := range []string{first, os.Getenv(Env)} {
		if dir != "" && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// Find returns where a file is: at path itself or, if path is relative, in the first of dirs that has it.
func Find(path string, dirs []string) (string, error) {
	if path == "-" {
		return path, nil
	}
	if err := source.CheckLocal(path); err != nil {
		return "", err
	}
	for _, place := range places(path, dirs) {
		if _, err := os.Stat(place); err == nil {
			return place, nil
		} else if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	return "", &MissingError{Path: path, Dirs: dirs}
}

// places returns where Find looks for a file.
func places(path string, dirs []string) []string {
	all := []string{path}
	if !filepath.IsAbs(path) {
		for _, dir := range dirs {
			all = append(all, filepath.Join(dir, path))
		}
	}
	return all
}

// EmbeddingsFile returns the path of the file with the embeddings, "" if they come from elsewhere.
func (w Workload) EmbeddingsFile() string { return w.besideFile().Path }

// besideFile returns the file with the embeddings, none if they come from elsewhere.
func (w Workload) besideFile() queries.BesideFile {
	if file, ok := queries.ParseBesideFile(w.Embeddings); ok && !embed.IsBuiltIn(w.Embeddings) {
		return file
	}
	return queries.BesideFile{}
}

// Paths returns all files to read: the trace's, which may be folders and patterns, then the others as withFiles names
// them.
func (w Workload) Paths() []string {
	paths := slices.Clone(w.Files)
	w.withFiles(func(path, _ string) string {
		paths = append(paths, path)
		return path
	})
	return paths
}

// withFiles returns w with other paths of the files that are not the trace's: the file of embeddings, if any, then
// those that parameters of the generator, the format, rules for sizes and the description of keys and values name. what
// says what a file is, "" if its path is enough.
func (w Workload) withFiles(other func(path, what string) string) Workload {
	if beside := w.besideFile(); beside.Path != "" {
		w.Embeddings = beside.As(other(beside.Path, "")).String()
	}
	if spec, err := gen.Parse(w.Generator, ""); err == nil {
		spec, _ = spec.WithFiles(func(path string) (string, error) { return other(path, ""), nil })
		w.Generator = spec.Full()
	}
	as := func(what string) func(string) string { return func(path string) string { return other(path, what) } }
	w.Format = formats.WithFiles(w.Format, as("file, though the trace format names it"))
	w.ObjectSizes = sizes.WithFiles(w.ObjectSizes, as("file of sizes"))
	if s, err := llm.Parse(w.KV); err == nil {
		if s.File() != "" {
			s = s.WithFile(other(s.File(), ""))
		}
		w.KV = s.String()
	}
	return w
}

// placed is where all files of a workload are, in the order of Paths.
type placed struct {
	trace  []string // of Files; each may have several
	beside []string // the others
}

func (p placed) all() []string { return slices.Concat(p.trace, p.beside) }

// find returns where all files are.
func (w Workload) find(dirs []string) (found placed, err error) {
	if found.trace, err = FindAll(w.Files, dirs); err != nil {
		return placed{}, err
	}
	w.withFiles(func(path, what string) string {
		if err != nil {
			return path
		}
		place, notFound := Find(path, dirs)
		if missing := (*MissingError)(nil); errors.As(notFound, &missing) {
			missing.What = what
		}
		found.beside, err = append(found.beside, place), notFound
		return path
	})
	return found, err
}

// Identity returns only what determines the requests: without the name and, if the checksum is known, without the
// paths.
func (w Workload) Identity() Workload {
	w.Name = ""
	if w.Checksum != "" {
		w.Files = nil
		w = w.withFiles(func(string, string) string { return "file" })
	}
	return w
}

// Key identifies the requests: it is the same for workloads with the same Identity.
func (w Workload) Key() string {
	text, err := json.Marshal(w.Identity())
	if err != nil {
		panic(err) // only texts and numbers
	}
	return string(text)
}

// ReadChecksum returns "sha256:" and the digest of the file's bytes. For several files (see Paths) it is the digest of
// their digests, so that it also depends on where one ends and the next begins. It is "" for a generator that reads no
// files.
func (w Workload) ReadChecksum(ctx context.Context, dirs []string) (string, error) {
	if len(w.Paths()) == 0 {
		return "", nil
	}
	found, err := w.find(dirs)
	if err != nil {
		return "", err
	}
	return ChecksumOf(ctx, found.all())
}

// ChecksumOf returns the checksum of files as ReadChecksum does. An attention trace is all of its files.
func ChecksumOf(ctx context.Context, paths []string) (string, error) {
	if len(paths) == 1 && attention.Is(ctx, paths[0]) {
		paths = attention.FilesOf(paths[0])
	}
	return parallel.Await(ctx, func() (string, error) {
		digests := make([][sha256.Size]byte, len(paths))
		err := parallel.For(ctx, parallel.Jobs(0), len(paths), func(_ context.Context, _, i int) (err error) {
			digests[i], err = digestOf(paths[i])
			return err
		})
		if err != nil {
			return "", err
		}
		digest := digests[0]
		if len(paths) > 1 {
			all := sha256.New()
			for i := range digests {
				all.Write(digests[i][:])
			}
			all.Sum(digest[:0])
		}
		return "sha256:" + hex.EncodeToString(digest[:]), nil
	})
}

func digestOf(path string) (digest [sha256.Size]byte, err error) {
	state, err := filestate.Of(path)
	if err != nil {
		return digest, err
	}
	f, err := filestate.Open(path)
	if err != nil {
		return digest, err
	}
	defer f.Close()
	hash := sha256.New()
	if _, err = io.Copy(hash, f); err == nil {
		err = state.Check()
	}
	hash.Sum(digest[:0])
	return digest, err
}

// Load reads or generates the trace. Files that are not at their path are searched for in dirs, in this order. If w has
// a checksum that the files do not match, the error is a ChangedError; if a file is not found, a MissingError.
func (w Workload) Load(ctx context.Context, dirs []string, options traces.LoadOptions) (*traces.Trace, error) {
	t, _, err := w.loadInOrder(ctx, dirs, options, w.Checksum != "")
	return t, err
}

// LoadSummed is Load that also returns w with its checksum, computed while loading, and with its files in the order in
// which they were read. Standard input and pipes, which cannot be read twice, have none.
func (w Workload) LoadSummed(ctx context.Context, dirs []string, options traces.LoadOptions) (*traces.Trace,
	Workload, error) {
	return w.loadInOrder(ctx, dirs, options, true)
}

// loadInOrder loads the files of a rotated log in the order of their times, of which a warning of the trace says so.
func (w Workload) loadInOrder(ctx context.Context, dirs []string, options traces.LoadOptions, takeSum bool) (
	t *traces.Trace, _ Workload, err error) {
	options.Selection = w.Selection
	w, note := w.inOrder(ctx, dirs, options)
	t, w.Checksum, err = w.load(ctx, dirs, options, takeSum)
	if t != nil && note != "" {
		t.Warnings = append(t.Warnings, note)
	}
	return t, w, err
}

// inOrder returns w with the files of a rotated log in the order of their times, and says so in the note; and otherwise
// as it is. Files with a checksum keep their order, which a record states.
func (w Workload) inOrder(ctx context.Context, dirs []string, options traces.LoadOptions) (_ Workload, note string) {
	if w.Checksum != "" || w.EmbeddingsFile() != "" {
		return w, ""
	}
	found, err := w.find(dirs)
	if err != nil {
		return w, "" // which loading reports
	}
	order := read.RotationOrder(ctx, found.trace, options)
	if order == nil {
		return w, ""
	}
	named := w.Files
	if len(named) != len(found.trace) { // a folder or a pattern, which has no order
		named = found.trace
	}
	files := make([]string, len(order))
	for i, at := range order {
		files[i] = named[at]
	}
	w.Files = files
	return w, read.RotationNote(files)
}

func (w Workload) load(ctx context.Context, dirs []string, options traces.LoadOptions,
	takeSum bool) (t *traces.Trace, sum string, err error) {
	if w.Checksum != "" {
		options.BadLines = 1 // whoever recorded the checksum has accepted them
	}
	if err := w.CheckEmbeddings(); err != nil {
		return nil, "", fmt.Errorf("embeddings %s: %w", w.Embeddings, err)
	}
	keyValues, err := w.keyValues(dirs)
	if err != nil {
		return nil, "", err
	}
	switch {
	case options.Attention:
		t, sum, err = w.loadAttention(ctx, dirs, options, takeSum)
	case w.Generator != "":
		t, sum, err = w.generate(ctx, dirs, options, takeSum)
	default:
		t, sum, err = w.loadFiles(ctx, dirs, options, takeSum)
	}
	if err != nil {
		return nil, sum, err
	}
	switch {
	case w.Name != "":
		t.Name = w.Name
	case slices.ContainsFunc(w.Files, func(path string) bool { return StandsForFiles(path, dirs) }):
		t.Name = traces.NameOf(w.Files) // as the files in it may be thousands
	}
	if err := keyValues.set(t); err != nil {
		return nil, sum, err
	}
	if t, err = t.WithAnswers(cmp.Or(w.Answers, prompts.AnswersKept)); err != nil {
		return nil, sum, fmt.Errorf("answers=%s: %w", w.Answers, err)
	}
	switch {
	case !options.Embeddings:
	case w.EmbeddingsFile() != "":
		queries.Of(t.Kind).Embeddings = w.Embeddings
	default:
		err = w.embed(ctx, t)
	}
	return t, sum, err
}

// CheckEmbeddings refuses invalid values of w.Embeddings.
func (w Workload) CheckEmbeddings() error {
	if w.EmbeddingsFile() == "" {
		if option, found := queries.UnknownBesideOption(w.Embeddings); found {
			return fmt.Errorf("unknown option %q: want a file with a row for each request, or FILE:rows=distinct with a row "+
				"for each distinct query", option)
		}
		if _, err := embed.Parse(cmp.Or(w.Embeddings, embed.Default)); err != nil {
			return fmt.Errorf("%w; or name a file that ends in .npy or .fvecs", err)
		}
		return nil
	}
	switch {
	case w.Generator != "":
		return errors.New("a generator has no files for embeddings to belong to: write its trace to a file with cachesim gen")
	case w.Merge:
		return errors.New("embeddings belong to requests in the order of their files, which merging changes: merge with " +
			"cachesim convert first")
	}
	return nil
}

// embed gives queries the embeddings that a built-in embedder computes from their texts, if that is requested or they
// have no others.
func (w Workload) embed(ctx context.Context, t *traces.Trace) error {
	q := queries.Of(t.Kind)
	if w.Embeddings == "" && (q == nil || q.Dim > 0 || q.Texts == nil) {
		return nil
	}
	spec, err := embed.Parse(cmp.Or(w.Embeddings, embed.Default))
	if err != nil {
		return err
	}
	if q == nil || q.Texts == nil {
		return fmt.Errorf("embeddings %s: %s has no queries with texts to embed", spec, t.Name)
	}
	e, err := embed.Texts(ctx, spec, q.Texts, nil)
	if err != nil {
		return err
	}
	q.Dim, q.Vectors, q.Embeddings = e.Dim, e.Vectors, spec.Full()
	return nil
}

// loadFiles reads the files and computes their checksum at the same time.
func (w Workload) loadFiles(ctx context.Context, dirs []string, options traces.LoadOptions,
	takeSum bool) (t *traces.Trace, sum string, err error) {
	found, err := w.find(dirs)
	if err != nil {
		return nil, "", err
	}
	options.Find = func(path string) (string, error) { return Find(path, dirs) }
	paths := found.all()
	special := slices.IndexFunc(paths, func(path string) bool { return !isRegular(path) })
	if special >= 0 && w.Checksum != "" {
		return nil, "", fmt.Errorf("%s: not a regular file, so its checksum cannot be compared with the recorded %s",
			paths[special], w.Checksum)
	}
	var beside queries.BesideFile
	if options.Embeddings && w.EmbeddingsFile() != "" {
		beside = w.besideFile().As(found.beside[0])
	}
	if !takeSum || special >= 0 {
		t, err = loadWith(ctx, found.trace, beside, options)
		return t, "", err
	}
	var opened []filestate.State // the checksum opens the files a second time
	for _, path := range paths {
		state, err := filestate.Of(path)
		if err != nil {
			return nil, "", err
		}
		opened = append(opened, state)
	}
	type summed struct {
		sum string
		err error
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan summed, 1)
	go func() {
		sum, err := w.verified(ctx, paths)
		ended <- summed{sum, err}
	}()
	t, err = loadWith(ctx, found.trace, beside, options)
	if err != nil && w.Checksum == "" { // no checksum could explain it, so nothing is to be waited for
		return nil, "", err
	}
	// If the file was replaced, or is being written, that explains why it cannot be read, so it is reported first.
	s := <-ended
	for _, state := range opened {
		if err := state.Check(); err != nil {
			return nil, "", err
		}
	}
	if s.err != nil {
		return nil, "", s.err
	}
	return t, s.sum, err
}

// loadWith loads files with the embeddings beside them, if there is such a file.
func loadWith(ctx context.Context, files []string, beside queries.BesideFile,
	options traces.LoadOptions) (*traces.Trace, error) {
	if beside.Path != "" {
		vectors, err := queries.OpenVectors(ctx, beside.Path, nil)
		if err != nil {
			return nil, err
		}
		defer vectors.Close()
		options.Beside = queries.NewBeside(vectors, beside.Distinct)
	}
	return read.Load(ctx, files, options)
}

// isRegular reports whether the file can be read twice.
func isRegular(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// verified returns the checksum of the files; it is an error if w states another one.
func (w Workload) verified(ctx context.Context, found []string) (string, error) {
	sum, err := ChecksumOf(ctx, found)
	if err == nil && w.Checksum != "" && sum != w.Checksum {
		err = &ChangedError{w.Paths(), w.Checksum, sum}
	}
	return sum, err
}

// generate makes the trace. Its checksum covers Paths, the files that the generator reads and the description of keys
// and values.
func (w Workload) generate(ctx context.Context, dirs []string, options traces.LoadOptions,
	takeSum bool) (t *traces.Trace, sum string, err error) {
	spec, err := gen.Parse(w.Generator, "")
	if err != nil {
		return nil, "", err
	}
	if err := options.Memory.Need(spec.Bytes(), spec.String()+": the generator", "fewer objects"); err != nil {
		return nil, "", err
	}
	placed, err := spec.WithFiles(func(path string) (string, error) { return Find(path, dirs) })
	if err != nil {
		return nil, "", err
	}
	if takeSum && len(w.Paths()) > 0 {
		found, err := w.find(dirs)
		if err != nil {
			return nil, "", err
		}
		if sum, err = w.verified(ctx, found.all()); err != nil {
			return nil, "", err
		}
	}
	g, err := Prepare(ctx, placed, options.Preparing)
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", w.Generator, err)
	}
	t, err = read.LoadReader(ctx, spec.String(), g, g.Fields, int64(g.Requests()), options)
	return t, sum, err
}

// Prepare returns the generator of spec, or ctx's error as soon as ctx ends. preparing, unless it is nil, is called as
// traces.LoadOptions.Preparing.
func Prepare(ctx context.Context, spec gen.Spec,
	preparing func() (set func(done, total int64), end func())) (*gen.Generator, error) {
	var progress func(done, total int64)
	if preparing != nil {
		set, end := preparing()
		defer end()
		progress = set
	}
	return parallel.Await(ctx, func() (*gen.Generator, error) { return gen.New(ctx, spec, progress) })
}

// Generated returns the workload of a generator, with all of its parameters written out, so that it stays the same when
// a default changes. Its seed is seed, unless text has its own.
func Generated(text string, seed uint64) (Workload, error) {
	spec, err := gen.ParseSeeded(text, seed)
	if err != nil {
		return Workload{}, fmt.Errorf("generator %s: %w", text, err)
	}
	return Workload{Name: spec.String(), Generator: spec.Full()}, nil
}

// IsGenerator reports whether text is meant as a generator rather than as a file: it starts with the name of one, and
// no file has that path.
func IsGenerator(text string) bool {
	if _, err := os.Stat(text); err == nil {
		return false
	}
	name, _, _ := strings.Cut(text, "(")
	return slices.ContainsFunc(gen.All(), func(e gen.Entry) bool { return e.Name == strings.TrimSpace(name) })
}

// Describe writes w into the record of one of its replays. It leaves the name of the trace, the sample rate, and the
// detected format as they are.
func (w Workload) Describe(rec *records.Record) error {
	for _, path := range w.Paths() {
		if strings.Contains(path, "\n") {
			return fmt.Errorf("%q: a path with a line break cannot be recorded", path)
		}
	}
	rec.TraceFiles, rec.TraceGenerator, rec.TraceChecksum = strings.Join(w.Files, "\n"), w.Generator, w.Checksum
	rec.InputFormat, rec.Merged, rec.PerFile = cmp.Or(rec.InputFormat, w.Format), w.Merge, w.PerFile
	rec.Limit = int64(w.Limit)
	rec.SampleSeed, rec.Tenants, rec.KV = w.SampleSeed, w.Tenants, w.KV
	rec.By = w.By
	rec.WriteMode = cmp.Or(rec.WriteMode, w.Writes)
	rec.ObjectSizes = strings.Join(w.ObjectSizes, "\n")
	rec.ObjectOverhead = cmp.Or(rec.ObjectOverhead, w.ObjectOverhead)
	if w.EmbeddingsFile() != "" {
		rec.Embeddings = w.Embeddings // even if similarity plays no part, since the checksum covers all files
	}
	return nil
}

// FromRecord is the inverse of Describe. It is an error if the record does not say what was replayed.
func FromRecord(rec *records.Record) (Workload, error) {
	w := Workload{
		Name:      rec.Trace,
		Generator: rec.TraceGenerator,
		Checksum:  rec.TraceChecksum,
		KV:        rec.KV,
		Answers:   prompts.Answers(rec.Answers),
		Selection: traces.Selection{
			Format: rec.InputFormat, Merge: rec.Merged, PerFile: rec.PerFile, Limit: int(rec.Limit),
			SampleRate: rec.SampleRate, SampleSeed: rec.SampleSeed, Tenants: rec.Tenants, By: rec.By,
			Writes: rec.WriteMode, ObjectOverhead: rec.ObjectOverhead,
		},
	}
	if _, ofPrompts := rec.Get("prompts"); ofPrompts && rec.Answers == "" {
		w.Answers = prompts.AnswersOff
	}
	if rec.Embeddings != queries.EmbeddingsInTrace {
		w.Embeddings = rec.Embeddings
	}
	if rec.ObjectSizes != "" {
		w.ObjectSizes = strings.Split(rec.ObjectSizes, "\n")
	}
	if rec.TraceFiles != "" {
		w.Files = strings.Split(rec.TraceFiles, "\n")
	}
	switch {
	case len(w.Files) == 0 && w.Generator == "":
		return w, fmt.Errorf("the record of %s at %d on %s does not say which files were replayed", rec.Label,
			rec.Capacity, rec.Trace)
	case slices.Contains(w.Files, "-"):
		return w, fmt.Errorf("%s was read from standard input and cannot be replayed; name a file", rec.Trace)
	}
	return w, nil
}
