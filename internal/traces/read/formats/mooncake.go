package formats

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/cachesim/cachesim/internal/traces/prompts"
	"github.com/cachesim/cachesim/internal/traces/read/promptlogs"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

var mooncakeWritable = source.Writable{
	Name: "mooncake", Endings: []string{".jsonl"}, Create: newMooncakeWriter,
	Holds: stream.Fields{Time: true, Groups: true},
	Kind:  prompts.Kind{}.Name(),
}

// mooncakeWriter writes one prompt per line, like the published traces. It writes the conversation and the priority
// if they are known, and the block size unless it is the 512 tokens of the published traces.
type mooncakeWriter struct {
	w     io.Writer
	kind  prompts.Kind
	clock bool
	line  []byte
	left  int // blocks of the prompt that are yet to come
}

func newMooncakeWriter(_ context.Context, w io.Writer, _ string, fields stream.Fields) (source.RecordWriter, error) {
	kind, ok := prompts.KindOf(fields)
	if !ok {
		return nil, errors.New("the requests are not prompts: write CSV or Parquet instead")
	}
	return &mooncakeWriter{w: w, kind: kind, clock: fields.Time}, nil
}

func (m *mooncakeWriter) Write(rec *stream.Record) error {
	head := prompts.HeadOf(rec)
	switch {
	case rec.Text != nil:
		return fmt.Errorf("block %q: want a number, as the blocks of a prompt are", rec.Text)
	case (m.left == 0) != (head != nil):
		return errors.New("a prompt with another number of blocks than it states")
	case head != nil:
		m.begin(head, rec.Time)
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

// begin writes everything before the first block of a prompt.
func (m *mooncakeWriter) begin(head *prompts.Head, time int64) {
	m.left = head.Blocks
	line := append(m.line[:0], '{')
	if m.clock {
		line = append(source.AppendDecimal(append(line, `"timestamp": `...), time, 1e6, 6), ", "...) // in ms
	}
	field := func(name string, value uint64) {
		line = append(line, '"')
		line = append(append(line, name...), `": `...)
		line = append(strconv.AppendUint(line, value, 10), ", "...)
	}
	field("input_length", uint64(head.InputTokens))
	if head.OutputTokens >= 0 {
		field("output_length", uint64(head.OutputTokens))
	}
	if head.Measured.Known {
		field("cached_tokens", uint64(head.Measured.Cached))
	}
	if head.Measured.Tokens > 0 {
		field("prompt_tokens", uint64(head.Measured.Tokens))
	}
	if m.kind.Sessions {
		field("session_id", head.Session)
	}
	if m.kind.Priorities {
		line = append(strconv.AppendInt(append(line, `"priority": `...), int64(head.Priority), 10), ", "...)
	}
	if m.kind.BlockTokens != promptlogs.DefaultBlockTokens {
		field("block_size", uint64(m.kind.BlockTokens))
	}
	m.line = append(line, `"hash_ids": [`...)
}

func (m *mooncakeWriter) Finish() error {
	if m.left > 0 {
		return errors.New("the last prompt has fewer blocks than it states")
	}
	return nil
}

func (m *mooncakeWriter) Discard() {}
