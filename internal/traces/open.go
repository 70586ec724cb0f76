package traces

import "context"

import "github.com/cachesim/cachesim/internal/params"

// Stream is an opened trace: its records, and what they were read as.
type Stream struct {
	Reader
	Info   *Reading // of the first file where it is an archive
	Fields Fields
	in     *input
	tenant []byte // that the requests belong to where files are tenants and are merged; nil otherwise
}

// Progress returns how many bytes of the file (compressed, if it is) were read so far and its size, 0 where that is
// unknown. Any goroutine may call it.
func (s *Stream) Progress() (done, total int64) { return s.in.bytesRead.Load(), s.in.size }

// Close releases the file.
func (s *Stream) Close() error { return s.in.close() }

// Open opens the trace file at path, or standard input for "-", and recognises compression, tar archives and format
// from the content. opts.Format forces a format; opts.Stdin is what "-" reads. The error names the file.
func Open(path string, opts LoadOptions) (*Stream, error) {
	return open(context.Background(), path, opts, new(together))
}

// open is Open with a context that ends the waiting for a pipe, and for a file that is read together with others: t is
// what they share.
func open(ctx context.Context, path string, opts LoadOptions, t *together) (*Stream, error) {
	in, err := openInput(ctx, path, opts.Stdin)
	if err != nil {
		return nil, err
	}
	in.together, in.budget, in.tenant = t, opts.Memory, opts.tenantColumn()
	stream, err := in.stream(opts.Format, opts.Merge)
	if err != nil {
		in.close()
		return nil, err
	}
	return stream, nil
}

// stream finds out what the input holds and starts to read it; wholeMembers is for the members of an archive, should it
// be one.
func (in *input) stream(spec string, wholeMembers bool) (*Stream, error) {
	src, err := newSource(in, in.label, in.path, in)
	if err != nil {
		return nil, err
	}
	s := &Stream{in: in}
	if src.isTar() {
		members, err := openTar(src, spec, wholeMembers)
		s.Reader, s.Fields, s.Info = members, members.fields, members.reading
		return s, err
	}
	s.Reader, s.Fields, err = src.open(spec, newReading(in, src.compression))
	s.Info = src.reading
	return s, err
}

// open recognises the format, unless spec asks for one, and starts to read. What the file was read as goes into
// reading.
func (s *Source) open(spec string, reading *Reading) (Reader, Fields, error) {
	format, opts, err := s.chooseFormat(spec)
	if err == nil {
		err = s.chooseTenant(format, opts)
	}
	if err != nil {
		return nil, Fields{}, err
	}
	s.reading = reading
	reader, fields, err := format.Open(s, opts)
	if err != nil {
		return nil, Fields{}, err
	}
	s.reading.complete(format, opts, fields)
	s.reading = s.in.together.join(s.reading)
	return reader, fields, nil
}

// chooseFormat returns the format that spec asks for, or the one that the content looks like.
func (s *Source) chooseFormat(spec string) (Format, params.Values, error) {
	head, err := s.head()
	if err == nil {
		err = s.checkWritten(head)
	}
	if err != nil {
		return Format{}, nil, err
	}
	if spec != "" {
		format, opts, err := parseFormat(spec)
		if err == nil {
			err = s.checkNamed(head, format)
		}
		return format, opts, err
	}
	format, err := detect(s, head)
	return format, params.Defaults(format.Options), err
}
