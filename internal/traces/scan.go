package traces

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"time"
)

// progressEvery is the time between two calls of LoadOptions.Progress.
const progressEvery = 50 * time.Millisecond

// checkEvery is the number of records between two looks at the clock and at the context.
const checkEvery = 1 << 12

// Scan streams the records of trace files, one file after another or merged by time, sampled and limited as opts says:
// begin is called once with what the records carry, then visit for each. A record is valid until visit returns. All
// files must carry the same of the fields that opts asks for. Not to find any request is an error. When ctx ends, Scan
// returns its error at once. It returns what the files were read as, each way once.
func Scan(ctx context.Context, paths []string, opts LoadOptions, begin func(Fields) error,
	visit func(*Record) error) ([]Reading, error) {
	s, err := newScan(ctx, paths, opts)
	if err != nil {
		return nil, err
	}
	s.begin, s.visit = begin, visit
	if err := s.run(); err != nil {
		return nil, err
	}
	return s.together.list(), nil
}

// scan is the state of Scan and of Load.
type scan struct {
	ctx     context.Context
	opts    LoadOptions
	paths   []string
	sampler *sampler // nil to keep all
	tenants []string // per path: the tenant that its requests belong to; nil where files are none
	tenant  []byte   // of the file that is read; nil likewise
	beside  *beside  // nil without embeddings beside the trace

	begin   func(Fields) error
	visit   func(*Record) error
	batches func(*oracleGeneralReader) error // if set, reads all of a file that is neither sampled nor merged
	part    func()                           // if set, called where a file, or the next file in an archive, begins

	together together
	opened   int // files
	fields   Fields
	seen     int // requests read
	kept     int // requests that sampling kept
	open     []*Stream
	finished int64 // bytes of the files that were read and closed
	total    int64 // bytes of all files, 0 if unknown

	// Of prompts.
	chains      *chains
	keepsPrompt bool // the present one belongs to the sample
	prompts     int  // that were kept
	blocksLeft  int  // of the last one kept
	reported    time.Time
}

func newScan(ctx context.Context, paths []string, opts LoadOptions) (*scan, error) {
	s := &scan{ctx: ctx, opts: opts, paths: paths}
	switch {
	case len(paths) == 0:
		return nil, errors.New("no trace files to read")
	case opts.Limit < 0:
		return nil, fmt.Errorf("limit %d: want a number of requests, 0 for all", opts.Limit)
	case opts.PerFile && opts.Merge:
		return nil, errors.New("files that are merged by time cannot be replayed one by one: ask for one or the other")
	case opts.Vectors != nil && opts.Merge:
		return nil, fmt.Errorf("%v: embeddings belong to requests in the order of their files, which merging changes: "+
			"merge with cachesim convert first", opts.Vectors)
	case math.IsNaN(opts.SampleRate) || opts.SampleRate < 0 || opts.SampleRate > 1:
		return nil, fmt.Errorf("sample rate %v: want a share of the keys between 0 and 1", opts.SampleRate)
	case opts.SampleRate > 0 && opts.SampleRate < 1:
		s.sampler = newSampler(opts.SampleRate, opts.SampleSeed)
	}
	if first := slices.Index(paths, "-"); first >= 0 && slices.Contains(paths[first+1:], "-") {
		return nil, errors.New("standard input can be read only once: name - once")
	}
	if opts.Vectors != nil {
		s.beside = newBeside(opts.Vectors)
	}
	s.total = totalSize(paths)
	return s, nil
}

// totalSize returns the bytes of all files, 0 if it is not known of one.
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

// run reads all files.
func (s *scan) run() error {
	defer s.close()
	return s.ended(s.readFiles())
}

// readWhole reads r alone.
func (s *scan) readWhole(r Reader) error { return s.ended(s.readAll(r)) }

// ended makes of the error with which the reading ended that of the scan.
func (s *scan) ended(err error) error {
	if s.ctx.Err() != nil {
		return s.ctx.Err()
	}
	if err != nil && err != errLimit {
		return err
	}
	if s.kept == 0 {
		return s.nothingKept()
	}
	if s.beside != nil {
		if checkErr := s.beside.check(s.seen, err != errLimit); checkErr != nil {
			return checkErr
		}
	}
	s.report(true)
	return nil
}

// errLimit ends the reading at the limit.
var errLimit = errors.New("limit reached")

func (s *scan) readFiles() error {
	if s.opts.Merge {
		return s.readMerged()
	}
	for i, path := range s.paths {
		stream, err := s.openNext(path)
		if err != nil {
			return err
		}
		if s.tenants != nil {
			s.tenant = []byte(s.tenants[i])
		}
		if reader, ok := stream.Reader.(*oracleGeneralReader); ok && s.batches != nil && s.sampler == nil {
			err = s.batches(reader)
		} else {
			err = s.readAll(stream)
		}
		if err = s.unchanged(err); err != nil {
			return err
		}
		done, _ := stream.Progress()
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

// unchanged makes of the error with which reading the open files ended that they changed meanwhile, if they did, as
// that explains any other. Where a limit ended it, what was read is all there, whatever is written behind it.
func (s *scan) unchanged(err error) error {
	if err == errLimit {
		return err
	}
	for _, stream := range s.open {
		if changed := stream.in.opened.Check(); changed != nil {
			return changed
		}
	}
	return err
}

// mergeable returns the open files, and of archives the files in them.
func (s *scan) mergeable() (streams []*Stream, err error) {
	for i, stream := range s.open {
		members := []*Stream{stream}
		if archive, ok := stream.Reader.(*tarReader); ok {
			if members, err = archive.members(stream); err != nil {
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

// openNext opens a file and makes sure that its fields are those of the files before it.
func (s *scan) openNext(path string) (*Stream, error) {
	stream, err := open(s.ctx, path, s.opts, &s.together)
	if err != nil {
		return nil, err
	}
	s.open = append(s.open, stream)
	if s.part != nil {
		s.part()
		if archive, ok := stream.Reader.(*tarReader); ok {
			archive.nextMember = s.part
		}
	}
	fields := stream.Fields
	fields.Time = fields.Time || fields.Counted
	if s.opened++; s.opened == 1 {
		return stream, s.start(path, fields)
	}
	if err := s.checkPrompts(path, fields); err != nil {
		return nil, err
	}
	for _, f := range []struct {
		name           string
		wanted, is, as bool
	}{
		{"times", s.opts.Times, fields.Time, s.fields.Time},
		{"a clock", s.opts.Times, !fields.Counted, !s.fields.Counted},
		{"sizes", s.opts.Sizes, fields.Size, s.fields.Size},
		{"operations", s.opts.Ops, fields.Op, s.fields.Op},
		{"groups of requests", true, fields.Groups, s.fields.Groups},
		{"tenants", s.opts.tenantColumn() != "", fields.Tenant, s.fields.Tenant},
	} {
		if f.wanted && f.is != f.as {
			return nil, fmt.Errorf("%s and %s do not go together: only one of them has %s", s.paths[0], path, f.name)
		}
	}
	return stream, nil
}

// start takes the fields of the first file.
func (s *scan) start(path string, fields Fields) error {
	if s.beside != nil {
		if fields.BlockTokens > 0 {
			return fmt.Errorf(
				"%s: its requests are blocks of prompts, which have no embeddings as those of %v",
				path,
				s.opts.Vectors,
			)
		}
		fields.Queries = true
	}
	s.fields = fields
	if fields.BlockTokens > 0 {
		s.chains = newChains()
		if s.sampler != nil && !fields.Sessions {
			return fmt.Errorf("%s: its prompts belong to no conversations, and a sample of blocks would tear prompts apart: "+
				"use --limit instead of --sample", path)
		}
	}
	return s.begin(fields)
}

// checkPrompts refuses a file whose prompts are of another kind than those of the first.
func (s *scan) checkPrompts(path string, fields Fields) error {
	first := s.paths[0]
	switch is, as := fields, s.fields; {
	case (is.BlockTokens > 0) != (as.BlockTokens > 0):
		return fmt.Errorf("%s and %s do not go together: only one of them has prompts", first, path)
	case is.BlockTokens != as.BlockTokens:
		return fmt.Errorf(
			"%s and %s do not go together: blocks of %d and of %d tokens",
			first,
			path,
			as.BlockTokens,
			is.BlockTokens,
		)
	case is.BlockTokens > 0 && is.Sessions != as.Sessions:
		return fmt.Errorf(
			"%s and %s do not go together: only one of them says which prompts belong to one conversation",
			first,
			path,
		)
	}
	return nil
}

func (s *scan) close() error {
	var errs []error
	for _, stream := range s.open {
		errs = append(errs, stream.Close())
	}
	s.open = nil
	return errors.Join(errs...)
}

// readAll visits the records of r one by one.
func (s *scan) readAll(r Reader) error {
	var rec Record
	begins := true // a group, even if its first requests are not kept
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
			if s.fields.Counted {
				rec.Time = int64(s.seen) * 1e9
			}
			s.seen++
			if s.beside != nil {
				if err := s.beside.give(&rec); err != nil {
					return err
				}
			}
			begins = begins || rec.Begins
			if s.fields.BlockTokens > 0 && !s.chains.resolve(&rec) {
				return errTooManyObjects
			}
			if s.sampler != nil && !s.keeps(&rec) {
				continue
			}
			s.kept++
			rec.Begins, begins = begins, false
			if s.beside == nil || !s.beside.ended {
				if err := s.visit(&rec); err != nil {
					return err
				}
			}
			if s.opts.Limit > 0 && s.atLimit(&rec) {
				return errLimit
			}
		}
	}
}

// keeps says whether rec belongs to the sample: of prompts, those of conversations whose hashed key does.
func (s *scan) keeps(rec *Record) bool {
	if s.fields.BlockTokens == 0 {
		return s.sampler.keeps(rec)
	}
	if rec.Begins {
		s.keepsPrompt = s.sampler.keepsNumber(rec.Prompt.Session)
	}
	return s.keepsPrompt
}

// atLimit says whether rec, which was kept, is the last request that may be: the last block of a prompt where prompts
// are counted.
func (s *scan) atLimit(rec *Record) bool {
	if s.fields.BlockTokens == 0 {
		return s.kept == s.opts.Limit
	}
	if rec.Begins {
		s.prompts++
		s.blocksLeft = rec.Prompt.Blocks
	}
	s.blocksLeft--
	return s.blocksLeft == 0 && s.prompts == s.opts.Limit
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

// progress returns the compressed bytes read so far and those of all files, 0 if unknown.
func (s *scan) progress() (done, total int64) {
	done = s.finished
	for _, stream := range s.open {
		now, _ := stream.Progress()
		done += now
	}
	return done, s.total
}

func (s *scan) nothingKept() error {
	if s.seen == 0 {
		return fmt.Errorf("%s: holds no requests", s.paths[0])
	}
	return fmt.Errorf(
		"%s: sampling at %v kept none of %d requests: use a higher rate or another seed",
		s.paths[0],
		s.opts.SampleRate,
		s.seen,
	)
}
