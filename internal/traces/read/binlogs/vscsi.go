package binlogs

import (
	"slices"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// VSCSI is the format of VMware's vscsiStats.
var VSCSI = source.Format{
	Name: "vscsi",
	Options: []params.Param{{
		Name: "version", Default: "auto", Choices: []string{"auto", "1", "2"}, Doc: "version of the records",
	}},
	Detect: func(head source.Head, _ string) source.Confidence {
		l := vscsiLayout(head)
		switch {
		case l == nil || !source.IsBinary(head.Bytes):
			return source.No
		case len(head.Bytes) >= 2*l.record:
			return source.Likely
		}
		return source.Possible
	},
	Binary: true,
	Impossible: func(head source.Head) string {
		if vscsiLayout(head) == nil {
			return notVSCSI
		}
		return ""
	},
	Open: openVSCSI,
}

const notVSCSI = "want records of 32 bytes that state version 1, or of 40 bytes that state version 2"

// vscsiLayouts are those of libCacheSim's vscsi.h, by version. The upper byte of a field states it.
var vscsiLayouts = []layout{
	named("1", "<IIIHHQQ", roles{size: 2, op: 4, version: 5, key: 6, time: 7}, withSCSI),
	named("2", "<HHIIIQQ8x", roles{op: 1, version: 2, size: 4, key: 6, time: 7}, withSCSI),
}

func withSCSI(l *layout) { l.op.kind = scsi }

// vscsiLayout returns the layout whose version all whole records at the beginning of a file state; nil if none.
func vscsiLayout(head source.Head) *layout {
	for i := range vscsiLayouts {
		l, matched := &vscsiLayouts[i], false
		for records := head.Bytes; len(records) >= l.record; records = records[l.record:] {
			if matched = l.checkVersion(records) == nil; !matched {
				break
			}
		}
		if matched {
			return l
		}
	}
	return nil
}

func openVSCSI(src *source.Source, opts params.Values) (stream.Reader, stream.Fields, error) {
	head, err := src.Head()
	if err != nil {
		return nil, stream.Fields{}, err
	}
	l := vscsiLayout(head)
	if i := slices.IndexFunc(vscsiLayouts, func(l layout) bool { return l.name == opts.Text("version") }); i >= 0 {
		l = &vscsiLayouts[i]
	}
	if l == nil {
		return nil, stream.Fields{}, src.Errorf("is not in format vscsi: %s", notVSCSI)
	}
	opts["version"] = l.name
	r := &reader{src: src, layout: *l, unit: source.TimeUnits["us"], ops: source.NewOpFilter("all")}
	r.state("version " + l.name)
	src.Reading.Key = "key block"
	return r, r.fields(), nil
}
