package read

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"time"

	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/prompts"
	"github.com/cachesim/cachesim/internal/traces/read/formats"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// progressEvery is the time between two calls of Options.Progress.
const progressEvery = 50 * time.Millisecond

// checkEvery is the number of records between two checks of the clock and the context.
const checkEvery = 1 << 12

// Scan streams the records of trace files, one file after another or merged by time, sampled and limited as opts says.
// begin is called once with the fields of the records, then visit for each record, which is valid until visit returns.
// Its Size is that of the whole object, with the key and the overhead. The fields that opts requests must be in all
// files or in none. A trace without requests is an error. When ctx ends, Scan returns its error at once.
func Scan(ctx context.Context, paths []string, opts Options, begin func(stream.Fields) error,
	visit func(*stream.Record) error) (Scanned, error) {
	s, err := newScan(ctx, paths, opts)
	if err != nil {
		return Scanned{}, err
	}
	s.begin = begin
	s.visit = func(rec *stream.Record) error {
		s.finishSize(rec)
		return visit(rec)
	}
	if err := s.run(); err != nil {
		return Scanned{}, err
	}
	return Scanned{s.together.List(), s.clockWarnings()}, nil
}

// Scanned says what was read.
type Scanned struct {
	Readings []stream.Reading // how the files were read, each way once
	Warnings []string         // about an order of the requests that makes little sense
}

// scan is the state of Scan and of Load.
type scan struct {
	ctx     context.Context
	opts    Options
	paths   []string
	sampler *traces.Sampler // nil to keep all
	tenants []string        // per path: the tenant of its requests; nil if files are not tenants
	tenant  []byte          // of the file being read; likewise nil

	begin   func(stream.Fields) error
	visit   func(*stream.Record) error
	further func(stream.Fields)                      // if set, called when a file after the first is opened
	batches func(*formats.OracleGeneralReader) error // if set, reads all of a file that is neither sampled nor merged
	dropped func()                                   // if set, called where the sample leaves out a row
	part    func()                                   // if set, called where a file begins, or a file in an archive

	clock    clock
	timed    bool // the clock follows the times of the file that is being read
	together source.Together
	opened   int // files
	fields   stream.Fields
	writes   stream.Writes // what writes do to a cache
	writesOf string        // the first file with operations; "" without one
	sizing   sizing
	seen     int       // requests read
	counted  int       // those of them that belong to hits and misses
	bytes    int64     // of these, for a sample
	unsized  bool      // some of these have an unknown size
	kept     int       // requests that sampling kept
	ahead    *ahead    // opens the next files; nil for a single one
	open     []*Stream // files being read: all when merging, otherwise one
	finished int64     // bytes of the files that have been read and closed
	total    int64     // bytes of all files, 0 if unknown

	salted    bool         // the prompts of different tenants share no blocks
	units     stream.Units // nil if each request is a unit
	keepsUnit bool         // the current unit belongs to the sample
	unitsKept int

	reported time.Time
}

func newScan(ctx context.Context, paths []string, opts Options) (*scan, error) {
	s := &scan{ctx: ctx, opts: opts, paths: paths}
	switch {
	case len(paths) == 0:
		return nil, errors.New("no trace files to read")
	case opts.Limit < 0:
		return nil, fmt.Errorf("limit %d: want a number of requests, 0 for all", opts.Limit)
	case opts.PerFile && opts.Merge:
		return nil, errors.New("files that are merged by time cannot be replayed one by one: choose one or the other")
	case opts.Beside != nil && opts.Merge:
		return nil, fmt.Errorf("%v: %s belong to requests in the order of their files, which merging changes: "+
			"merge with cachesim convert first", opts.Beside, opts.Beside.What())
	case !(opts.BadLines >= 0 && opts.BadLines <= 1):
		return nil, fmt.Errorf("bad lines %v: want a share of the lines between 0 and 1", opts.BadLines)
	case math.IsNaN(opts.SampleRate) || opts.SampleRate < 0 || opts.SampleRate > 1:
		return nil, fmt.Errorf("sample rate %v: want a share of the keys between 0 and 1", opts.SampleRate)
	case opts.SampleRate > 0 && opts.SampleRate < 1:
		s.sampler = traces.NewSampler(opts.SampleRate, opts.SampleSeed)
	}
	var err error
	if opts.Writes != "" {
		s.writes, err = stream.ParseWrites(opts.Writes)
	}
	if err == nil {
		s.sizing, err = newSizing(opts)
	}
	if err != nil {
		return nil, err
	}
	if first := slices.Index(paths, "-"); first >= 0 && slices.Contains(paths[first+1:], "-") {
		return nil, errors.New("standard input can be read only once: name - once")
	}
	s.total = totalSize(paths)
	return s, nil
}

// totalSize returns the bytes of all files, 0 if any size is unknown.
func totalSize(paths []string) int64 {
	var total int64
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil || !info.Mode().IsRegular() {
			return 0
		}
		total += info.Size()
	}
	return total
}

func (s *scan) run() error {
	err := s.readFiles()
	s.finished, _ = s.progress()
	s.close()
	return s.ended(err)
}

// ended returns the error of the scan, given the error that ended the reading.
func (s *scan) ended(err error) error {
	// A reader that was interrupted may report anything.
	if s.ctx.Err() != nil {
		return s.ctx.Err()
	}
	if err != nil && err != errLimit {
		return err
	}
	if err := s.together.CheckBadLines(s.opts.BadLines); err != nil {
		return err
	}
	if s.kept == 0 {
		return s.nothingKept()
	}
	if s.opts.Beside != nil {
		if checkErr := s.opts.Beside.Check(s.seen, err != errLimit); checkErr != nil {
			return checkErr
		}
	}
	s.report(true)
	return nil
}

// errLimit ends the reading at the limit.
var errLimit = errors.New("limit reached")

func (s *scan) readFiles() error {
	if len(s.paths) > 1 {
		s.ahead = newAhead(s.ctx, s.paths, s.opts)
		defer s.ahead.close()
	}
	if s.opts.Merge {
		return s.readMerged()
	}
	for i, path := range s.paths {
		opened, err := s.openNext(path)
		if err != nil {
			return err
		}
		if s.tenants != nil {
			s.tenant = []byte(s.tenants[i])
		}
		if s.timed = opened.Fields.Time && !opened.Fields.Counted; s.timed {
			s.clock.open(path)
		}
		if reader, ok := opened.Reader.(*formats.OracleGeneralReader); ok && s.batches != nil && s.sampler == nil {
			err = s.batches(reader)
		} else if opened.ahead = s.parseAhead(opened); opened.ahead != nil {
			err = s.readAll(opened.ahead)
		} else {
			err = s.readAll(opened)
		}
		if err = s.unchanged(err); err != nil {
			return err
		}
		done, _ := opened.Progress()
		s.finished += done
		if err := s.close(); err != nil {
			return err
		}
	}
	return nil
}

func (s *scan) readMerged() error {
	for _, path := range s.paths {
		if _, err := s.openNext(path); err != nil {
			return err
		}
	}
	streams, err := s.mergeable()
	if err != nil {
		return err
	}
	if len(streams) == 1 {
		return s.unchanged(s.readAll(streams[0]))
	}
	merged, err := newMergeReader(streams)
	if err != nil {
		return err
	}
	return s.unchanged(s.readAll(merged))
}

// unchanged replaces the error that ended the reading if the open files changed meanwhile, since that explains any
// other. If a limit ended it, everything needed was read, whatever is written after it.
func (s *scan) unchanged(err error) error {
	if err == errLimit {
		return err
	}
	for _, opened := range s.open {
		if changed := opened.in.Opened.Check(); changed != nil {
			return changed
		}
	}
	return err
}

// mergeable returns the open files, and the files in archives.
func (s *scan) mergeable() (streams []*Stream, err error) {
	for i, opened := range s.open {
		members := []*Stream{opened}
		if archive, ok := opened.Reader.(*tarReader); ok {
			if members, err = archive.members(opened); err != nil {
				return nil, err
			}
		}
		if s.tenants != nil {
			for _, member := range members {
				member.tenant = []byte(s.tenants[i])
			}
		}
		streams = append(streams, members...)
	}
	return streams, nil
}

// openNext opens a file and checks that its records have the same fields as in earlier files.
func (s *scan) openNext(path string) (*Stream, error) {
	var next prepared
	if s.ahead != nil {
		next = s.ahead.next()
	}
	if next == (prepared{}) {
		next = prepare(s.ctx, path, s.opts)
	}
	opened, err := next.begin(s.opts, &s.together)
	if err != nil {
		return nil, err
	}
	s.open = append(s.open, opened)
	if s.part != nil {
		s.part()
		if archive, ok := opened.Reader.(*tarReader); ok {
			archive.nextMember = s.part
		}
	}
	fields := opened.Fields
	fields.Time = fields.Time || fields.Counted
	if err := s.agree(path, fields, opened.Info.Writes); err != nil {
		return nil, err
	}
	if err := s.agreeOnOverhead(path, opened.Info.Overhead); err != nil {
		return nil, err
	}
	if s.opened++; s.opened == 1 {
		return opened, s.start(path, fields)
	}
	if why := conflict(s.fields.Kind, fields.Kind); why != "" {
		return nil, fmt.Errorf("%s and %s do not go together: %s", s.paths[0], path, why)
	}
	for _, f := range []struct {
		name           string
		wanted, is, as bool
	}{
		{"times", s.opts.WantTimes(fields), fields.Time, s.fields.Time},
		{"a clock", s.opts.WantTimes(fields), !fields.Counted, !s.fields.Counted},
		{"sizes", s.opts.Sizes, fields.Size, s.fields.Size && !s.sizing.all},
		{"operations", s.opts.Ops, fields.Op, s.fields.Op},
		{"times to live", s.opts.Ops, fields.TTL, s.fields.TTL},
		{"hits of the server", s.opts.Ops, fields.Served, s.fields.Served},
		{"groups of requests", true, fields.Groups, s.fields.Groups},
		{"tenants", columnWanted(s.opts) != "", fields.Tenant, s.fields.Tenant},
	} {
		if f.wanted && f.is != f.as {
			return nil, fmt.Errorf("%s and %s do not go together: only one of them has %s", s.paths[0], path, f.name)
		}
	}
	if s.further != nil {
		s.further(fields)
	}
	return opened, nil
}

// start begins with the fields of the first file, which the others must match.
func (s *scan) start(path string, fields stream.Fields) error {
	var err error
	if s.opts.Beside != nil {
		if fields.Kind, err = s.opts.Beside.Kind(fields.Kind); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	if err := s.checkSizing(path, &fields); err != nil {
		return err
	}
	s.fields = fields
	if kind, ok := prompts.KindOf(fields); ok && kind.LengthsOnly && !s.opts.Lengths {
		return fmt.Errorf("%s: has lengths of prompts without contents, so hits are unknown; use cachesim stat, or "+
			"cachesim run --cache prefix --model prefill for times without a cache", path)
	}
	if source.IsGrouped(fields.Kind) {
		if s.units, err = fields.Kind.Units(s.sampler != nil); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return s.begin(fields)
}

// conflict says why files of two kinds cannot be one trace; "" if they can.
func conflict(first, other stream.Kind) string {
	why := ""
	if first != nil {
		why = first.Conflict(other)
	}
	if why == "" && other != nil {
		why = other.Conflict(first)
	}
	return why
}

func (s *scan) close() error {
	var errs []error
	for _, opened := range s.open {
		errs = append(errs, opened.Close())
	}
	s.open = nil
	return errors.Join(errs...)
}

func (s *scan) readAll(r stream.Reader) error {
	var rec stream.Record
	begins := true // a group, even if its first requests are dropped
	for {
		if err := s.check(); err != nil {
			return err
		}
		for range checkEvery {
			if err := r.Read(&rec); err == io.EOF {
				return nil
			} else if err != nil {
				return err
			}
			if s.tenant != nil {
				rec.Tenant = s.tenant
			}
			if s.timed {
				s.clock.see(rec.Time)
			}
			if s.fields.Counted {
				rec.Time = int64(s.seen) * 1e9
			}
			s.seen++
			if s.opts.Ops || s.writes.Counts(rec.Op) {
				s.counted++
				s.addBytes(&rec)
			}
			known := true
			if s.opts.Beside != nil {
				var err error
				if known, err = s.opts.Beside.Give(&rec); err != nil {
					return err
				}
			}
			begins = begins || rec.Begins
			if rec.Op.Kind() == stream.OpFlush { // of all objects, whichever a sample keeps
				if err := s.visit(&rec); err != nil {
					return err
				}
				continue
			}
			if s.sampler != nil && !s.keeps(&rec) {
				if s.dropped != nil {
					s.dropped()
				}
				continue
			}
			if s.salted && rec.Begins {
				rec.Num = salted(rec.Num, rec.Tenant)
				prompts.HeadOf(&rec).Salt = saltOf(rec.Tenant)
			}
			if s.units != nil {
				if err := s.units.Take(&rec); err != nil {
					return err
				}
			}
			s.kept++
			rec.Begins, begins = begins, false
			if known {
				if err := s.visit(&rec); err != nil {
					return err
				}
			}
			if s.opts.Limit > 0 && s.atLimit() {
				return errLimit
			}
		}
	}
}

// keeps reports whether rec belongs to the sample, which keeps or drops whole units.
func (s *scan) keeps(rec *stream.Record) bool {
	if s.units == nil {
		return s.sampler.Keeps(rec)
	}
	if rec.Begins {
		s.keepsUnit = s.sampler.KeepsNumber(s.units.SampledBy(rec))
	}
	return s.keepsUnit
}

// atLimit reports whether the last record kept is the last one allowed: the last of a unit, if units are counted.
func (s *scan) atLimit() bool {
	if s.units == nil {
		return s.kept == s.opts.Limit
	}
	if !s.units.Last() {
		return false
	}
	s.unitsKept++
	return s.unitsKept == s.opts.Limit
}

// check ends the reading with the context and reports progress.
func (s *scan) check() error {
	if err := s.ctx.Err(); err != nil {
		return err
	}
	s.report(false)
	return nil
}

func (s *scan) report(last bool) {
	if s.opts.Progress == nil || !last && time.Since(s.reported) < progressEvery {
		return
	}
	s.reported = time.Now()
	done, total := s.progress()
	if last {
		total = max(done, total)
		done = total
	}
	s.opts.Progress(done, total)
}

// progress returns the compressed bytes read so far and in all files, 0 if unknown.
func (s *scan) progress() (done, total int64) {
	done = s.finished
	for _, opened := range s.open {
		now, _ := opened.Progress()
		done += now
	}
	return done, s.total
}

// clockWarnings says where requests are not in the order of time.
func (s *scan) clockWarnings() []string {
	switch {
	case s.opts.Merge:
		return nil
	case len(s.clock.files) > 0:
		return s.clock.warnings(s.opts.PerFile)
	case s.opts.PerFile:
		return nil
	}
	if warning := rotatedWarning(s.paths); warning != "" {
		return []string{warning}
	}
	return nil
}

func (s *scan) nothingKept() error {
	if s.seen == 0 {
		for _, reading := range s.together.List() {
			if reading.LeftOut > 0 {
				return fmt.Errorf("%s: holds no requests: %s", s.paths[0], reading.LeftOutText())
			}
		}
		return fmt.Errorf("%s: holds no requests", s.paths[0])
	}
	return fmt.Errorf("%s: sampling at %v kept none of %d requests: use a higher rate or another seed", s.paths[0],
		s.opts.SampleRate, s.seen)
}
