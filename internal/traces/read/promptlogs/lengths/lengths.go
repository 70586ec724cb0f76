// Package lengths reads arrivals and lengths of prompts without their contents, as CSV. It is a package of its own
// because these prompts have no blocks, and need nothing of what cuts texts into tokens.
package lengths

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/traces/read/promptlogs"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// Names of columns, as source.PlainName writes them.
var (
	inputNames = []string{"contexttokens", "requesttokens", "prompttokens", "inputtokens", "inputlength", "promptlength",
		"promptlen", "inputlen", "numprefilltokens", "requestnumprefilltokens"}
	outputNames = []string{"generatedtokens", "generationtokens", "responsetokens", "completiontokens", "outputtokens",
		"outputlength", "outputlen", "numdecodetokens", "requestnumdecodetokens"}
	arrivalNames = []string{"timestamp", "time", "arrivaltime", "arrivedat", "starttime", "launchtime"}
	cachedNames  = []string{"cachedtokens", "numcachedtokens", "cachedprompttokens", "cachereadinputtokens",
		"prompttokensdetailscachedtokens", "cachedinputtokens"}
	conversationNames = []string{"sessionid", "conversationid", "userid"}
)

// Formats has the format of this package.
var Formats = []source.Format{{
	Name:    "lengths",
	Options: []params.Param{source.TimeUnitOption()},
	Detect: source.CertainIf(func(head source.Head) bool {
		_, _, ok := lengthsHeader(head)
		return ok
	}),
	Impossible: func(head source.Head) string {
		if _, _, ok := lengthsHeader(head); ok {
			return ""
		}
		return "its first line does not name columns of the lengths of prompts and of answers, such as ContextTokens and " +
			"GeneratedTokens"
	},
	Open: openLengths,
}}

// lengthsHeader returns the names of the columns and what separates them, if two of them are lengths.
func lengthsHeader(head source.Head) (header []string, delimiter byte, ok bool) {
	if len(head.Lines) == 0 {
		return nil, 0, false
	}
	for _, delimiter := range []byte(",\t;") {
		rows := &source.Rows{}
		for _, cell := range source.CutLoosely(nil, head.Lines[0], delimiter) {
			rows.Header = append(rows.Header, string(source.TrimBlanks(cell)))
		}
		if rows.Known(inputNames) >= 0 && rows.Known(outputNames) >= 0 {
			return rows.Header, delimiter, true
		}
	}
	return nil, 0, false
}

// lengthsReader reads a prompt per row.
type lengthsReader struct {
	rows                         *source.Rows
	input, output, time, session int // columns, -1 without
	cached                       int // likewise
	timeUnit                     int64
}

func openLengths(src *source.Source, opts params.Values) (stream.Reader, stream.Fields, error) {
	head, err := src.Head()
	if err != nil {
		return nil, stream.Fields{}, err
	}
	_, delimiter, _ := lengthsHeader(head)
	rows := &source.Rows{Src: src, Delimiter: delimiter}
	if err := rows.ReadHeader(); err != nil {
		return nil, stream.Fields{}, err
	}
	r := &lengthsReader{rows: rows, input: rows.Known(inputNames), output: rows.Known(outputNames),
		time: rows.Known(arrivalNames), session: rows.Known(conversationNames), cached: rows.Known(cachedNames)}
	reading := src.Reading
	reading.Why = "prompts of no tokens"
	reading.Key = fmt.Sprintf("lengths %s and %s", rows.Header[r.input], rows.Header[r.output])
	if r.session >= 0 {
		reading.Key += ", conversations " + rows.Header[r.session]
	}
	if r.time >= 0 {
		first := rows.NextCell(r.time)
		r.timeUnit = source.TimeUnit(opts, first)
		reading.Time = "time " + rows.Header[r.time] + source.TimeKind(first, r.timeUnit)
	}
	return promptlogs.BlockPrompts(r.next).Open(src.NextNumber(), promptlogs.OnlyLengths(r.session >= 0), r.time >= 0)
}

func (r *lengthsReader) next(p *promptlogs.BlockPrompt) error {
	for {
		if err := r.rows.Next(); err != nil {
			return err
		}
		promptlogs.NoteEnd(r.rows.Src) // a number that is cut is another number
		input := source.TrimBlanks(r.rows.Cells[r.input])
		if n, ok := source.ParseWhole(input); ok && n == 0 {
			r.rows.Src.Reading.LeftOut++
			continue
		}
		if err := r.read(p, input); err != nil {
			return r.rows.Src.LineErrorf("%w", err)
		}
		return nil
	}
}

func (r *lengthsReader) read(p *promptlogs.BlockPrompt, input []byte) (err error) {
	name := func(column int) string { return strings.TrimSpace(r.rows.Header[column]) }
	p.Begin()
	if err = p.SetInput(input); err != nil {
		return fmt.Errorf("%s: %w", name(r.input), err)
	}
	output := source.TrimBlanks(r.rows.Cells[r.output])
	if !source.IsNumber(output) {
		return fmt.Errorf("%s: %.40q tokens: want a whole number from 0 to 2^31-1", name(r.output), output)
	}
	p.SetOutput(output)
	at := int64(0)
	if r.time >= 0 {
		if at, err = source.ParseTime(source.TrimBlanks(r.rows.Cells[r.time]), r.timeUnit); err != nil {
			return fmt.Errorf("%s: %w", name(r.time), err)
		}
	}
	if r.cached >= 0 {
		p.Usage.SetText("cached_tokens", source.TrimBlanks(r.rows.Cells[r.cached]))
	}
	if r.session >= 0 {
		p.Session = r.sessionOf(source.TrimBlanks(r.rows.Cells[r.session]))
	}
	p.EndWithout(at, r.rows.Src, nil)
	return nil
}

// sessionOf returns the key of a conversation. A request without a name, as those to BurstGPT's API, is its own.
func (r *lengthsReader) sessionOf(name []byte) uint64 {
	if len(name) == 0 || bytes.EqualFold(name, []byte("nan")) {
		return random.Scramble(^uint64(r.rows.Src.LineNumber))
	}
	if n, ok := source.ParseWhole(name); ok {
		return n
	}
	return stream.HashText(name)
}
