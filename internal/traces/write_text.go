package traces

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// csvWriter writes a header and one line per record with the columns that the records carry: time, key, size, op. Times
// are seconds with as many decimals as they need, so nothing is lost.
type csvWriter struct {
	w      io.Writer
	fields Fields
	line   []byte
}

func newCSVWriter(_ context.Context, w io.Writer, _ string, fields Fields) (recordWriter, error) {
	columns := []string{"key"}
	if fields.Time {
		columns = []string{"time", "key"}
	}
	if fields.Size {
		columns = append(columns, "size")
	}
	if fields.Op {
		columns = append(columns, "op")
	}
	_, err := io.WriteString(w, strings.Join(columns, ",")+"\n")
	return &csvWriter{w: w, fields: fields}, err
}

func (c *csvWriter) write(rec *Record) error {
	line := c.line[:0]
	if c.fields.Time {
		line = append(appendSeconds(line, rec.Time), ',')
	}
	if rec.Text != nil && (isBinary(rec.Text) || bytes.IndexByte(rec.Text, '\r') >= 0) {
		return fmt.Errorf("key %q holds control characters, which cannot stand in CSV: write Parquet instead", rec.Text)
	}
	line = appendCSVKey(line, rec)
	if c.fields.Size {
		line = strconv.AppendInt(append(line, ','), rec.Size, 10)
	}
	if c.fields.Op {
		line = append(append(line, ','), rec.Op.String()...)
	}
	c.line = append(line, '\n')
	_, err := c.w.Write(c.line)
	return err
}

func (c *csvWriter) finish() error { return nil }
func (c *csvWriter) discard()      {}

// appendSeconds appends nanoseconds as decimal seconds without trailing zeros.
func appendSeconds(line []byte, ns int64) []byte { return appendDecimal(line, ns, 1e9, 9) }

// appendDecimal appends nanoseconds in units of 10^digits of them, without trailing zeros.
func appendDecimal(line []byte, ns, unit int64, digits int) []byte {
	line = strconv.AppendInt(line, ns/unit, 10)
	if fraction := ns % unit; fraction != 0 {
		decimals := fmt.Sprintf("%0*d", digits, fraction)
		line = append(append(line, '.'), strings.TrimRight(decimals, "0")...)
	}
	return line
}

// appendCSVKey appends a key, quoted as in RFC 4180 where it needs to be.
func appendCSVKey(line []byte, rec *Record) []byte {
	if rec.Text == nil || !bytes.ContainsAny(rec.Text, ",\"\r\n") && len(bytes.TrimSpace(rec.Text)) == len(rec.Text) {
		return appendKey(line, rec)
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

func newPlainWriter(_ context.Context, w io.Writer, _ string, _ Fields) (recordWriter, error) {
	return &plainWriter{w: w}, nil
}

func (p *plainWriter) write(rec *Record) error {
	if bytes.ContainsAny(rec.Text, " \t\r\n") || isBinary(rec.Text) {
		return fmt.Errorf("key %q holds white space or control characters, which cannot stand in plain text: write CSV or "+
			"Parquet instead", rec.Text)
	}
	p.line = append(appendKey(p.line[:0], rec), '\n')
	_, err := p.w.Write(p.line)
	return err
}

func (p *plainWriter) finish() error { return nil }
func (p *plainWriter) discard()      {}

// appendKey appends a key as text.
func appendKey(line []byte, rec *Record) []byte {
	if rec.Text == nil {
		return strconv.AppendUint(line, rec.Num, 10)
	}
	return append(line, rec.Text...)
}
