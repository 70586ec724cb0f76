package weblogs

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/traces/read/layouts"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// server is a format whose lines always have the same layout, or one of a few.
type server struct {
	*layouts.File
	compiled []*layout
}

// serverFields are the variables in layouts of servers: those of nginx, and some of others.
var serverFields = func() map[string]field {
	fields := maps.Clone(nginxFields)
	maps.Copy(fields, map[string]field{"result_and_status": resultStatus, "operation": s3Operation,
		"object_size": objectBytes, "s3_status": s3Status})
	return fields
}()

// Formats are the formats of access logs that are code.
var Formats = []source.Format{accessFormat, w3cFormat, gcsFormat}

// Described returns the format of a file whose layouts are lines, as log_format of nginx describes them.
func Described(f *layouts.File) (source.Format, error) {
	format, err := f.Begin()
	s := &server{File: f}
	for i := 0; err == nil && i < len(f.Layouts); i++ {
		var l *layout
		if l, err = newLayout(nginxParts(f.Layouts[i].Line, serverFields)); err != nil {
			err = f.ErrorAt("line: ", err, "layouts", i)
			break
		}
		l.padded, l.quotable = f.Layouts[i].Padded, f.Layouts[i].Quotable
		s.compiled = append(s.compiled, l)
	}
	format.Options, format.Open = RuleOptions(), s.open
	format.Detect = source.CertainIf(func(head source.Head) bool {
		_, fit := bestLayout(s.compiled, head.Lines)
		return fit
	})
	format.Carries = cmp.Or(f.Carries, "key (host and path), and what the line has")
	return format, err
}

func (s *server) open(src *source.Source, opts params.Values) (stream.Reader, stream.Fields, error) {
	head, err := src.Head()
	if err != nil {
		return nil, stream.Fields{}, err
	}
	i, fit := bestLayout(s.compiled, head.Lines)
	if !fit {
		return nil, stream.Fields{}, src.Errorf("%w", s.foreign(s.compiled[0], head.Lines))
	}
	return openLayout(src, opts, s.compiled[i], description{s.Layouts[i].About, s.Layouts[i].Key})
}

// foreign says how the first line that is not in the usual layout of a server differs from it.
func (s *server) foreign(usual *layout, lines [][]byte) error {
	p := parser{layout: usual}
	for _, line := range lines {
		if err := p.parse(line); err != nil {
			return fmt.Errorf("not in the format of %s (%.80q: %w); if the server has a format of its own, describe it as "+
				"log_format of nginx would: --input-format 'access:format=$remote_addr ... \"$request\" $status ...'", s.Name,
				line, err)
		}
	}
	return fmt.Errorf("not in the format of %s: no whole line within %d bytes", s.Name, source.HeadLen)
}

// bestLayout returns the layout that most of the first lines have, and whether at least half of them do. Of several it
// is the last.
func bestLayout(layouts []*layout, lines [][]byte) (best int, fit bool) {
	lines = firstRequests(source.WithoutBlankEnd(lines))
	most := 0
	for i, l := range layouts {
		p, fitting := parser{layout: l}, 0
		for _, line := range lines {
			if _, err := p.take(line, l.steps); err == nil && !bytes.HasPrefix(line, []byte("#")) {
				fitting++
			}
		}
		if fitting > 0 && fitting >= most {
			best, most = i, fitting
		}
	}
	return best, most > 0 && 2*most >= len(lines)
}
