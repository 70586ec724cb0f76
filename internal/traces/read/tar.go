package read

import (
	"archive/tar"
	"bytes"
	"cmp"
	"errors"
	"io"
	"math"

	"github.com/cachesim/cachesim/internal/base/terminal"
	"github.com/cachesim/cachesim/internal/traces/read/formats"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// tarReader reads the regular files of an archive one after another, in archive order, all in one format. It implements
// stream.Reader.
type tarReader struct {
	archive *source.Source
	tar     *tar.Reader
	ended   endWatch
	spec    string // format that the user named, "" to detect it
	// whole reads members into memory when they are opened, so that all can be open at the same time.
	whole      bool
	held       int64           // bytes of members in memory
	open       *source.File    // the member being read
	reading    *stream.Reading // of the current member
	member     stream.Reader
	fields     stream.Fields
	nextMember func() // if set, called before the first record of each member except the first
}

// endWatch records whether the archive ended before its end mark was read.
type endWatch struct {
	r    io.Reader
	seen bool
}

func (w *endWatch) Read(p []byte) (int, error) {
	n, err := w.r.Read(p)
	w.seen = w.seen || (n == 0 && err == io.EOF)
	return n, err
}

func openTar(archive *source.Source, spec string, whole bool) (*tarReader, error) {
	t := &tarReader{archive: archive, ended: endWatch{r: archive}, spec: spec, whole: whole}
	t.tar = tar.NewReader(&t.ended)
	archive.In.OnClose(t.closeMember)
	err := t.next()
	if err == io.EOF {
		err = archive.Errorf("the tar archive holds no files with data")
	}
	return t, err
}

// next moves to the next regular file with data; io.EOF after the last.
func (t *tarReader) next() error {
	for {
		header, err := t.tar.Next()
		switch {
		case err == io.EOF:
			return t.checkEnd()
		case err != nil:
			return t.fail(err)
		case (header.Typeflag == tar.TypeReg || header.Typeflag == tar.TypeGNUSparse) && header.Size > 0:
			return t.openMember(header)
		}
	}
}

func (t *tarReader) closeMember() error {
	if t.open == nil {
		return nil
	}
	return t.open.Close()
}

// openMember starts reading a member, in the same format as the earlier ones.
func (t *tarReader) openMember(header *tar.Header) error {
	content := io.Reader(memberReader{t})
	place := t.archive.Place + ": " + terminal.InLine(header.Name)
	switch {
	case t.whole:
		text, err := t.hold(place, header.Size)
		if err != nil {
			return err
		}
		content = bytes.NewReader(text)
		if t.open == nil {
			t.open = t.archive.In.Member() // of all of them together
		}
	default:
		if err := t.closeMember(); err != nil {
			return err
		}
		t.open = t.archive.In.Member()
	}
	src, err := source.New(t.open, place, header.Name, content)
	if err != nil {
		return err
	}
	reading := source.NewReading(t.archive.In, cmp.Or(src.Compression, t.archive.Compression))
	reading.Archive = true
	member, fields, err := formats.Open(src, t.spec, reading)
	switch {
	case err != nil:
		return err
	case t.member != nil && src.Reading.Format != t.reading.Format:
		return src.Errorf("looks like %s, but the files before it look like %s; name the right one with --input-format NAME",
			src.Reading.Format, t.reading.Format)
	case t.member != nil && fields != t.fields:
		return src.Errorf("has other columns than the files before it in the archive")
	}
	t.reading, t.member, t.fields = src.Reading, member, fields
	return nil
}

// heldShare is the part of the budget that members in memory may take.
const heldShare = 0.5

// hold reads the current member into memory. A sparse member may claim much more than the archive holds.
func (t *tarReader) hold(place string, size int64) ([]byte, error) {
	budget := t.archive.In.Budget
	if size > budget.Part(heldShare, math.MaxInt64)-t.held {
		return nil, budget.Refuse(t.held+size, place+": merging an archive holds its files in memory, which",
			"to unpack it and name its files")
	}
	text := make([]byte, size)
	if _, err := io.ReadFull(memberReader{t}, text); err != nil {
		return nil, err
	}
	t.held += size
	return text, nil
}

// members opens all members of an archive that keeps them in memory.
func (t *tarReader) members(archive *Stream) ([]*Stream, error) {
	var streams []*Stream
	for {
		streams = append(streams, &Stream{Reader: t.member, Info: archive.Info, Fields: t.fields, in: archive.in})
		if err := t.next(); err == io.EOF {
			return streams, nil
		} else if err != nil {
			return nil, err
		}
	}
}

func (t *tarReader) Read(rec *stream.Record) error {
	for {
		err := t.member.Read(rec)
		if err != io.EOF {
			return err
		}
		if err := t.next(); err != nil {
			return err
		}
		if t.nextMember != nil {
			t.nextMember()
		}
	}
}

// checkEnd returns io.EOF if the archive ends properly: with its end mark, and only zeros after it.
func (t *tarReader) checkEnd() error {
	if t.ended.seen {
		return t.fail(io.ErrUnexpectedEOF)
	}
	for {
		rest, err := t.archive.Records(1)
		if err != nil {
			return err
		}
		if len(bytes.Trim(rest, "\x00")) > 0 {
			return t.archive.Errorf("data after the end of the tar archive")
		}
	}
}

// fail describes what is wrong with the archive; errors of the decompression already do.
func (t *tarReader) fail(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return t.archive.OffsetErrorf(t.archive.Offset(), "the tar archive is cut off")
	}
	if errors.Is(err, tar.ErrHeader) {
		return t.archive.OffsetErrorf(t.archive.Offset(), "the tar archive is damaged: want the header of a file")
	}
	return err
}

// memberReader reads the content of the current member.
type memberReader struct{ t *tarReader }

func (m memberReader) Read(p []byte) (int, error) {
	n, err := m.t.tar.Read(p)
	if err != nil && err != io.EOF {
		err = m.t.fail(err)
	}
	return n, err
}
