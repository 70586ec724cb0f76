package formats

import (
	"bytes"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

var plainFormat = source.Format{
	Name: "plain",
	Options: []params.Param{{
		Name: "spaces", Default: false,
		Doc: "keys may contain white space; otherwise that is an error, since the file probably has columns",
	}},
	// Lines of one word each; a blank line may only end the file.
	Detect: func(head source.Head, _ string) source.Confidence {
		isWord := func(_ int, line []byte) bool { return len(line) > 0 && !bytes.ContainsAny(line, " \t") }
		return source.Possible.If(!source.IsBinary(head.Bytes) && head.EveryLine(isWord))
	},
	Impossible: source.NoTextTrace,
	Open: func(src *source.Source, opts params.Values) (stream.Reader, stream.Fields, error) {
		src.Reading.Key = "one key per line"
		return &plainReader{src: src, spaces: opts.Bool("spaces")}, stream.Fields{}, nil
	},
}

// plainReader reads one key per line. It implements Reader.
type plainReader struct {
	src     *source.Source
	spaces  bool // allowed in keys
	sawText bool // some key was not a number
}

func (p *plainReader) Read(rec *stream.Record) error {
	line, err := p.src.Line()
	if err != nil {
		return err
	}
	num, ok := stream.ParseNumber(line)
	if !ok {
		num, ok = stream.ParseFloatNumber(line)
	}
	if ok {
		*rec = stream.Record{Num: num}
		return nil
	}
	blanks, controls := source.OddBytes(line)
	switch {
	case len(line) == 0:
		return p.src.OnlyBlankLines()
	case controls:
		return p.src.LineErrorf("control characters in the key %.60q: this is not a text trace", line)
	case blanks && !p.spaces:
		return p.src.LineErrorf("white space in the key %.60q: want one key per line; plain:spaces=true takes the whole "+
			"line as the key", line)
	case !p.sawText && len(line) == 1 && line[0] == '*' && p.src.LineNumber > 1:
		return p.src.LineErrorf("a mark * between numbers: this looks like the format lirs, read it with --input-format lirs")
	}
	p.sawText = true
	*rec = stream.Record{Text: line}
	return nil
}
