package formats

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

var batchesFormat = source.Format{
	Name: "batches",
	Options: []params.Param{{
		Name: "lines", Default: 1, Min: 1, Doc: "lines per batch: more than 1 if each line is one sample; the last " +
			"batch may have fewer",
	}},
	Detect:     detectBatches,
	Impossible: source.NoTextTrace,
	Open: func(src *source.Source, opts params.Values) (stream.Reader, stream.Fields, error) {
		lines := opts.Int("lines")
		src.Reading.Request = "a batch of keys per line"
		if lines > 1 {
			src.Reading.Request = fmt.Sprintf("a batch of keys per %d lines", lines)
		}
		src.LineNumber = 1
		return &batchesReader{src: src, text: bufio.NewReaderSize(src, 32<<10), linesPerBatch: lines, lines: lines},
			stream.Fields{Groups: true}, nil
	},
}

func endsKey(c byte) bool { return source.IsBlank(c) || c == ',' || c == '\n' || c == '\r' }

// detectBatches rejects what looks like a table, for the formats with columns, unless the name decides.
func detectBatches(head source.Head, name string) source.Confidence {
	lines := source.WithoutBlankEnd(head.Lines)
	oneLong := len(lines) == 0 && len(head.Bytes) == source.HeadLen // no other text has such lines
	if oneLong {
		lines = [][]byte{head.Bytes}
	}
	several := false
	for _, line := range lines {
		keys := bytes.FieldsFunc(line, func(r rune) bool { return r < 0x80 && endsKey(byte(r)) })
		if len(keys) == 0 || !source.AllDigits(keys) {
			return source.No
		}
		several = several || len(keys) > 1
	}
	if len(lines) > 0 && strings.HasSuffix(name, ".batches") {
		return source.Certain
	}
	if !several {
		return source.No
	}
	_, table := source.GuessDelimiter(lines)
	return source.Likely.If(oneLong || !table)
}

// batchesReader reads key by key. It does not read whole lines, since a batch may be longer than any line of other
// formats. It implements Reader.
type batchesReader struct {
	src           *source.Source
	text          *bufio.Reader // of src
	linesPerBatch int
	lines         int  // of the current batch, so far
	inLine        bool // a key of the current line was read
	blank         int  // the first line without keys, an error unless only such lines follow; 0 for none
	key           []byte
}

func (b *batchesReader) Read(rec *stream.Record) error {
	c, err := b.skipToKey()
	if err != nil {
		return err
	}
	if b.blank > 0 {
		b.src.LineNumber = b.blank
		return b.src.LastLineErrorf("a blank line before the end of the file: want a key")
	}
	b.key = b.key[:0]
	for ; err == nil && !endsKey(c); c, err = b.text.ReadByte() {
		if b.key = append(b.key, c); len(b.key) > source.MaxLine {
			if _, controls := source.OddBytes(b.key); controls {
				return b.src.LastLineErrorf("control characters: this is not a text trace")
			}
			return b.src.LastLineErrorf("a key longer than %d bytes: want shorter ones", source.MaxLine)
		}
	}
	if err == nil {
		err = b.text.UnreadByte() // which says that the line ends
	}
	if err != nil && err != io.EOF {
		return err
	}
	if _, controls := source.OddBytes(b.key); controls {
		return b.src.LastLineErrorf("control characters in the key %.60q: this is not a text trace", b.key)
	}
	*rec = stream.Record{Begins: b.begins()}
	rec.SetKey(b.key)
	return nil
}

// begins reports whether the key that was read is the first of a batch.
func (b *batchesReader) begins() bool {
	if b.inLine {
		return false
	}
	b.inLine = true
	if b.lines < b.linesPerBatch {
		b.lines++
		return false
	}
	b.lines = 1
	return true
}

// skipToKey moves to the next key, past the ends of lines, and returns its first byte.
func (b *batchesReader) skipToKey() (byte, error) {
	for {
		c, err := b.text.ReadByte()
		if err != nil || !endsKey(c) {
			return c, err
		}
		if c == '\n' {
			if !b.inLine && b.blank == 0 {
				b.blank = b.src.LineNumber
			}
			b.src.LineNumber++
			b.inLine = false
		}
	}
}

// batchesWriter writes a batch per line.
type batchesWriter struct {
	w       io.Writer
	text    []byte
	started bool
}

func newBatchesWriter(_ context.Context, w io.Writer, _ string, fields stream.Fields) (source.RecordWriter, error) {
	if !fields.Groups {
		return nil, fmt.Errorf("the requests do not come in batches: write plain text, CSV or Parquet instead")
	}
	return &batchesWriter{w: w}, nil
}

func (b *batchesWriter) Write(rec *stream.Record) error {
	if bytes.ContainsAny(rec.Text, ", \t\r\n") || source.IsBinary(rec.Text) {
		return fmt.Errorf("key %q has white space, commas or control characters, which a line of keys cannot hold: "+
			"write CSV or Parquet instead", rec.Text)
	}
	b.text = b.text[:0]
	switch {
	case b.started && rec.Begins:
		b.text = append(b.text, '\n')
	case b.started:
		b.text = append(b.text, ' ')
	}
	b.started = true
	b.text = source.AppendKey(b.text, rec)
	_, err := b.w.Write(b.text)
	return err
}

func (b *batchesWriter) Finish() error {
	if !b.started {
		return nil
	}
	_, err := io.WriteString(b.w, "\n")
	return err
}

func (b *batchesWriter) Discard() {}
