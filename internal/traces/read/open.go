package read

import (
	"context"
	"fmt"

	"github.com/cachesim/cachesim/internal/traces/attention"
	"github.com/cachesim/cachesim/internal/traces/read/formats"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// Stream is an opened trace: its records, and how they are read.
type Stream struct {
	stream.Reader
	Info   *stream.Reading // of the first file, for an archive
	Fields stream.Fields
	in     *source.File
	tenant []byte      // the tenant of its requests, if files are tenants and are merged; otherwise nil
	ahead  *parseAhead // reads the records; nil if Reader does
}

// Progress returns how many bytes of the file (compressed, if it is) have been read so far and its size, 0 if that is
// unknown. Any goroutine may call it.
func (s *Stream) Progress() (done, total int64) {
	if s.ahead != nil {
		return s.ahead.taken.Load(), s.in.Size
	}
	return s.in.BytesRead(), s.in.Size
}

func (s *Stream) Close() error {
	if s.ahead != nil {
		s.ahead.stop()
	}
	return s.in.Close()
}

// Open opens the trace file at path, or standard input for "-", and recognises compression, tar archives and format
// from the content. opts.Format forces a format; opts.Stdin is the input for "-". The error names the file.
func Open(path string, opts Options) (*Stream, error) {
	opts.Sizes = true
	return open(context.Background(), path, opts, new(source.Together))
}

// open is Open with a context, which ends waiting for a pipe, and with data that several files share.
func open(ctx context.Context, path string, opts Options, t *source.Together) (*Stream, error) {
	return prepare(ctx, path, opts).begin(opts, t)
}

// prepare opens a file and recognises its compression.
func prepare(ctx context.Context, path string, opts Options) prepared {
	in, err := source.OpenFile(ctx, path, opts.Stdin)
	if err != nil {
		if attention.IsFolder(path) {
			err = fmt.Errorf("%s: %w", path, attention.ErrNoRequests)
		}
		return prepared{err: err}
	}
	in.Budget, in.Tenant, in.NoSizes = opts.Memory, columnWanted(opts), !opts.Sizes
	in.Labels = opts.By != ""
	in.Merged, in.Context, in.Find, in.BadLines = opts.Merge, ctx, opts.Find, opts.BadLines
	src, err := source.New(in, in.Label, in.Path, in)
	if err != nil {
		in.Close()
		return prepared{err: err}
	}
	return prepared{in: in, src: src}
}

// begin recognises what the file holds and starts to read it.
func (p prepared) begin(opts Options, t *source.Together) (*Stream, error) {
	if p.err != nil {
		return nil, p.err
	}
	p.in.Together = t
	opened, err := openStream(p.in, p.src, opts.Format, opts.Merge)
	if err != nil {
		p.in.Close()
		return nil, err
	}
	return opened, nil
}

// openStream detects what the input holds and starts to read it. wholeMembers applies to the members of an archive.
func openStream(in *source.File, src *source.Source, spec string, wholeMembers bool) (*Stream, error) {
	s := &Stream{in: in}
	if src.IsTar() {
		members, err := openTar(src, spec, wholeMembers)
		s.Reader, s.Fields, s.Info = members, members.fields, members.reading
		return s, err
	}
	var err error
	s.Reader, s.Fields, err = formats.Open(src, spec, source.NewReading(in, src.Compression))
	s.Info = src.Reading
	return s, err
}
