package binlogs

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// lcsFormat is described in libCacheSim's traceReader/customizedReader/lcs.h, and the first form of it, in which the
// header has a format, in traceReader/generalReader/lcs.h of 2024.
var lcsFormat = source.Format{
	Name:    "lcs",
	Options: []params.Param{tenantOption(), source.OpsOption()},
	Writes:  stream.WritesFill,
	Detect: source.CertainIf(func(head source.Head) bool {
		return lcsHeader(head.Bytes) > 0
	}),
	Binary: true,
	Impossible: func(head source.Head) string {
		if lcsHeader(head.Bytes) > 0 {
			return ""
		}
		return "want a header of 8192 or 1024 bytes that begins and ends with the signature of lcs"
	},
	Open: openLCS,
}

const (
	lcsMagic  = 0x123456789abcdef0
	longLCS   = 8192 // bytes of a header
	shortLCS  = 1024
	magicSize = 8
)

// lcsHeader returns the length of the header that a file begins with, 0 if it has none.
func lcsHeader(b []byte) int {
	for _, length := range []int{longLCS, shortLCS} {
		if len(b) >= length && binary.LittleEndian.Uint64(b) == lcsMagic &&
			binary.LittleEndian.Uint64(b[length-magicSize:]) == lcsMagic {
			return length
		}
	}
	return 0
}

func openLCS(src *source.Source, opts params.Values) (stream.Reader, stream.Fields, error) {
	r := &reader{src: src, unit: second}
	head, err := src.Head()
	if err != nil {
		return nil, stream.Fields{}, err
	}
	length := lcsHeader(head.Bytes)
	header := bytes.Clone(head.Bytes[:length])
	switch length {
	case longLCS:
		err = r.longHeader(header)
	case shortLCS:
		err = r.shortHeader(header)
	default:
		err = fmt.Errorf("no header of lcs")
	}
	if err != nil {
		return nil, stream.Fields{}, src.OffsetErrorf(0, "%w", err)
	}
	if err := r.skip(length); err != nil {
		return nil, stream.Fields{}, err
	}
	return open(r, r.name, opts)
}

// lcsFeatures is how many numbers follow the record of version 3, by version from 4.
var lcsFeatures = []int{1, 2, 4, 8, 16}

// longHeader reads the header of versions 1 to 8: signature, version, and a table of statistics, which begins with its
// own version and the number of requests.
func (r *reader) longHeader(header []byte) (err error) {
	version := binary.LittleEndian.Uint64(header[8:])
	if version < 1 || version > 8 {
		return fmt.Errorf("version %d of lcs: want 1 to 8", version)
	}
	format, chosen := "<IQIq", roles{time: 1, key: 2, size: 3}
	switch {
	case version == 2:
		format, chosen = "<IQIIq", roles{time: 1, key: 2, size: 3, op: 4, tenant: 4}
	case version > 2:
		format, chosen = "<IQqIIq", roles{time: 1, key: 2, size: 3, op: 4, tenant: 4, ttl: 5}
	}
	if version > 3 {
		format += fmt.Sprintf("%dI", lcsFeatures[version-4])
	}
	if r.layout, err = parseStruct(format); err == nil {
		err = r.assign(chosen)
	}
	r.op.bits, r.tenant.shift, r.tenant.bits = 8, 8, 24
	r.name = fmt.Sprintf("version %d", version)
	return r.state64(header[24:], err)
}

// shortHeader reads the header of the first form: signature, format, the numbers of fields, and statistics.
func (r *reader) shortHeader(header []byte) (err error) {
	format, _, _ := bytes.Cut(header[8:248], []byte{0})
	at := header[248:]
	number := func(i int) int { return int(at[i]) }
	if r.layout, err = parseStruct(string(format)); err == nil {
		err = r.assign(roles{key: number(0), size: number(1), time: number(2), op: number(5), ttl: number(6),
			tenant: number(7)})
	}
	if err == nil && !r.key.exists() {
		err = fmt.Errorf("the header names no field of the key")
	}
	if stated := binary.LittleEndian.Uint32(header[1004:]); err == nil && uint32(r.record) != stated {
		err = fmt.Errorf("the header states records of %d bytes, and its format %q has %d", stated, format, r.record)
	}
	r.name = fmt.Sprintf("format %s", format)
	return r.state64(header[488:], err)
}

// state64 reads how many requests there are.
func (r *reader) state64(from []byte, err error) error {
	if r.stated = int64(binary.LittleEndian.Uint64(from)); err == nil && r.stated < 0 {
		return fmt.Errorf("the header states %d requests: want a number from 0", r.stated)
	}
	return err
}
