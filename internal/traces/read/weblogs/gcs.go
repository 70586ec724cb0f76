package weblogs

import (
	"bytes"
	"strings"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

var gcsFormat = source.Format{
	Name:    "gcs",
	Options: RuleOptions(),
	Writes:  stream.WritesInvalidate,
	Detect: source.CertainIf(func(head source.Head) bool {
		for _, want := range []string{"time_micros", "cs_bucket", "cs_object"} {
			if len(head.Lines) == 0 || !bytes.Contains(head.Lines[0], []byte(want)) {
				return false
			}
		}
		return true
	}),
	Open: openGCS,
}

// gcsFields are columns. The URL of a request may be that of the XML or of the JSON interface; bucket and object are
// the same in both. https://cloud.google.com/storage/docs/access-logs
var gcsFields = map[string]field{
	"time_micros": microseconds, "c_ip": client, "cs_method": method, "sc_status": status, "sc_bytes": bodyBytes,
	"cs_bucket": host, "cs_object": target,
}

func openGCS(src *source.Source, opts params.Values) (stream.Reader, stream.Fields, error) {
	header, err := src.Line()
	if err != nil {
		return nil, stream.Fields{}, err
	}
	l, err := columnLayout(strings.Split(strings.ReplaceAll(string(header), `"`, ""), ","), gcsFields, ",")
	if err != nil {
		return nil, stream.Fields{}, src.LineErrorf("header %.200q: %w", header, err)
	}
	return openLayout(src, opts, l, description{key: "bucket and object"})
}
