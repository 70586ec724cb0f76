package formats_test

import (
	"cmp"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces/files"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/read/formats"
	"github.com/cachesim/cachesim/internal/traces/read/layouts"
	"github.com/cachesim/cachesim/internal/traces/stream"
	"github.com/cachesim/cachesim/internal/traces/tracetest"
)

// TestExamplesGiveWhatFilesSay reads the examples of every format. Without options they are recognised.
func TestExamplesGiveWhatFilesSay(t *testing.T) {
	for _, f := range must.Get(formats.Described())(t) {
		if len(f.Examples) == 0 && len(f.Layouts) > 0 || f.Source == "" || f.Summary == "" || f.Detection == "" {
			t.Errorf("%s: want a summary, a source, what it is recognised by, and examples", f.Path)
		}
		for i, e := range f.Examples {
			if strings.HasPrefix(f.Detection, "never") {
				continue
			}
			t.Run(fmt.Sprintf("%s %d", f.Name, i+1), func(t *testing.T) {
				spec := ""
				if e.Options != "" {
					spec = f.Name + ":" + e.Options
				}
				path := filepath.Join(t.TempDir(), cmp.Or(e.File, "example"))
				must.Do(t, os.WriteFile(path, []byte(e.Text), 0o600))
				s := must.Get(read.Open(path, read.Options{Selection: read.Selection{Format: spec}}))(t)
				defer s.Close()
				if s.Info.Format != f.Name {
					t.Fatalf("read as %s", s.Info.Format)
				}
				records := must.Get(tracetest.Drain(s))(t)
				if _, reads := s.Fields.Kind.(files.Kind); s.Fields.Kind != nil && !reads {
					return // prompts and queries, which tests of their packages look into
				}
				if got := requestsOf(records, s.Fields); !reflect.DeepEqual(got, e.Gives) {
					t.Errorf("%s gives\n%+v\nwant\n%+v", f.Path, got, e.Gives)
				}
			})
		}
	}
}

// requestsOf writes records, or the reads that they are of, as files have them.
func requestsOf(records []stream.Record, fields stream.Fields) (all []layouts.Request) {
	for i := range records {
		rec := &records[i]
		var r layouts.Request
		if fields.Time {
			r.Time = layouts.Scalar(new(big.Rat).SetFrac64(rec.Time, 1e9).FloatString(9))
			r.Time = layouts.Scalar(strings.TrimSuffix(strings.TrimRight(string(r.Time), "0"), "."))
		}
		r.Op, r.Served, r.Tenant = asScalar(rec.Op), asScalar(rec.Served), layouts.Scalar(rec.Tenant)
		if rec.TTL > 0 {
			r.TTL = asScalar(rec.TTL / 1e9)
		}
		_, reads := fields.Kind.(files.Kind)
		switch head := files.HeadOf(rec); {
		case head != nil:
			r.Path, r.Job = layouts.Scalar(head.Path), layouts.Scalar(head.Job)
			r.Offset, r.Length = asScalar(head.Offset), asScalar(head.Length)
			if !fields.Op {
				r.Op = ""
			}
		case reads:
			continue // a further block of the read
		default:
			r.Key = layouts.Scalar(stream.Key{Num: rec.Num, Text: string(rec.Text)}.String())
			if rec.SizeUnknown {
				r.Size = "unknown"
			} else if fields.Size {
				r.Size = asScalar(rec.Size + rec.KeySize)
			}
		}
		all = append(all, r)
	}
	return all
}

func asScalar(value any) layouts.Scalar { return layouts.Scalar(fmt.Sprint(value)) }
