package traces

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// mooncakeWriter writes one prompt per line, as the published traces have them; the conversation is written where it is
// known, and the size of a block where it is not theirs.
type mooncakeWriter struct {
	w      io.Writer
	fields Fields
	line   []byte
	left   int // blocks of the prompt that have not come
}

func newMooncakeWriter(_ context.Context, w io.Writer, _ string, fields Fields) (recordWriter, error) {
	if fields.BlockTokens == 0 {
		return nil, errors.New("the requests are no prompts: write CSV or Parquet instead")
	}
	return &mooncakeWriter{w: w, fields: fields}, nil
}

func (m *mooncakeWriter) write(rec *Record) error {
	switch {
	case rec.Text != nil:
		return fmt.Errorf("block %q: the blocks of a prompt are numbers", rec.Text)
	case (m.left == 0) != (rec.Prompt != nil):
		return errors.New("a prompt with another number of blocks than it states")
	case rec.Prompt != nil:
		m.begin(rec)
	default:
		m.line = append(m.line, ", "...)
	}
	m.line = strconv.AppendUint(m.line, rec.Num, 10)
	if m.left--; m.left > 0 {
		return nil
	}
	m.line = append(m.line, "]}\n"...)
	_, err := m.w.Write(m.line)
	return err
}

// begin writes everything that stands before the first block of a prompt.
func (m *mooncakeWriter) begin(rec *Record) {
	m.left = rec.Prompt.Blocks
	line := append(m.line[:0], '{')
	if m.fields.Time {
		line = append(appendMilliseconds(append(line, `"timestamp": `...), rec.Time), ", "...)
	}
	field := func(name string, value uint64) {
		line = append(line, '"')
		line = append(append(line, name...), `": `...)
		line = append(strconv.AppendUint(line, value, 10), ", "...)
	}
	field("input_length", uint64(rec.Prompt.InputTokens))
	if rec.Prompt.OutputTokens >= 0 {
		field("output_length", uint64(rec.Prompt.OutputTokens))
	}
	if m.fields.Sessions {
		field("session_id", rec.Prompt.Session)
	}
	if m.fields.BlockTokens != defaultBlockTokens {
		field("block_size", uint64(m.fields.BlockTokens))
	}
	m.line = append(line, `"hash_ids": [`...)
}

// appendMilliseconds appends nanoseconds as decimal milliseconds without trailing zeros.
func appendMilliseconds(line []byte, ns int64) []byte { return appendDecimal(line, ns, 1e6, 6) }

func (m *mooncakeWriter) finish() error {
	if m.left > 0 {
		return errors.New("the last prompt has fewer blocks than it states")
	}
	return nil
}

func (m *mooncakeWriter) discard() {}
