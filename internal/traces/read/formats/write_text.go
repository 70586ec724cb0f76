package formats

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// csvWriter writes a header and one line per record with the columns that the records carry: time, key, size, op, ttl,
// served. Times are seconds with as many decimals as they need, so nothing is lost.
type csvWriter struct {
	w      io.Writer
	fields stream.Fields
	line   []byte
}

func newCSVWriter(_ context.Context, w io.Writer, _ string, fields stream.Fields) (source.RecordWriter, error) {
	var columns []string
	for _, column := range []struct {
		name string
		is   bool
	}{{"time", fields.Time}, {"key", true}, {"size", fields.Size}, {"op", fields.Op}, {"ttl", fields.TTL},
		{"served", fields.Served}} {
		if column.is {
			columns = append(columns, column.name)
		}
	}
	_, err := io.WriteString(w, strings.Join(columns, ",")+"\n")
	return &csvWriter{w: w, fields: fields}, err
}

func (c *csvWriter) Write(rec *stream.Record) error {
	line := c.line[:0]
	if c.fields.Time {
		line = append(source.AppendSeconds(line, rec.Time), ',')
	}
	if rec.Text != nil && (source.IsBinary(rec.Text) || bytes.IndexByte(rec.Text, '\r') >= 0) {
		return fmt.Errorf("key %q has control characters, which CSV cannot hold: write Parquet instead", rec.Text)
	}
	line = appendCSVKey(line, rec)
	if c.fields.Size {
		if line = append(line, ','); !rec.SizeUnknown {
			line = strconv.AppendInt(line, rec.Size, 10)
		}
	}
	if c.fields.Op {
		line = append(append(line, ','), rec.Op.String()...)
	}
	if c.fields.TTL {
		if line = append(line, ','); rec.TTL > 0 {
			line = source.AppendSeconds(line, rec.TTL)
		}
	}
	if c.fields.Served {
		line = append(append(line, ','), rec.Served.String()...)
	}
	c.line = append(line, '\n')
	_, err := c.w.Write(c.line)
	return err
}

func (c *csvWriter) Finish() error { return nil }
func (c *csvWriter) Discard()      {}

// appendCSVKey appends a key, quoted as in RFC 4180 if necessary.
func appendCSVKey(line []byte, rec *stream.Record) []byte {
	if rec.Text == nil || !bytes.ContainsAny(rec.Text, ",\"\r\n") && len(bytes.TrimSpace(rec.Text)) == len(rec.Text) {
		return source.AppendKey(line, rec)
	}
	line = append(line, '"')
	line = append(line, bytes.ReplaceAll(rec.Text, []byte(`"`), []byte(`""`))...)
	return append(line, '"')
}

// plainWriter writes one key per line.
type plainWriter struct {
	w    io.Writer
	line []byte
}

func newPlainWriter(_ context.Context, w io.Writer, _ string, _ stream.Fields) (source.RecordWriter, error) {
	return &plainWriter{w: w}, nil
}

func (p *plainWriter) Write(rec *stream.Record) error {
	if bytes.ContainsAny(rec.Text, " \t\r\n") || source.IsBinary(rec.Text) {
		return fmt.Errorf("key %q has white space or control characters, which plain text cannot hold: write CSV or "+
			"Parquet instead", rec.Text)
	}
	p.line = append(source.AppendKey(p.line[:0], rec), '\n')
	_, err := p.w.Write(p.line)
	return err
}

func (p *plainWriter) Finish() error { return nil }
func (p *plainWriter) Discard()      {}
