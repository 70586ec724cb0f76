// Package binlogs reads traces of records of one length: of any layout that the user states, of the layouts that
// libCacheSim has readers for, and of its own format lcs.
package binlogs

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/traces/read/layouts"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// Formats are the formats of this package.
var Formats = []source.Format{binaryFormat, libCacheSimFormat, lcsFormat}

var binaryFormat = source.Format{
	Name: "binary",
	Options: append([]params.Param{
		{Name: "format", Default: "",
			Doc: "fields of a record, as in <IQI: < for little-endian or > for big-endian, then a " +
				"letter for each (bBhHiIqQ are integers of 1 to 8 bytes, f and d floats, c and s text, x padding); or one of " +
				strings.Join(rawNames(), ", ") + " for a list of keys"},
		{Name: "key", Default: "1", Doc: "number of the field of the key, from 1; or one of " +
			strings.Join(rawNames(), ", ") + ", without a format"},
	}, slices.Concat(numbered("time", "time", "size", "size in bytes", "op", "operation, a number as in libCacheSim "+
		"(1 get, 3 set, 9 delete, 12 read, 13 write) or a word", "ttl", "time to live in seconds"), []params.Param{
		{Name: "tenant", Default: "", Doc: "number of the field of the tenant; by default none"},
		{Name: "time-unit", Default: "s", Choices: source.UnitNames, Doc: "unit of times"},
		{Name: "skip", Default: 0, Min: 0, Max: 1 << 20, Doc: "bytes before the first record"},
		source.OpsOption(),
	})...),
	Detect:  func(source.Head, string) source.Confidence { return source.No },
	Binary:  true,
	AnyText: "records of one length",
	// Any of these can be read in a layout of one's own.
	Formats: []string{"oraclegeneral", "vscsi", "champsim", "libcachesim", "lcs"},
	Open:    openBinary,
}

// Described returns the format of a file whose layout is binary: its fields have roles, in the order of the notation.
// It is never recognised, since any bytes may be such records.
func Described(f *layouts.File) (source.Format, error) {
	l := f.Layouts[0]
	values := map[string]string{"format": l.Binary}
	parsed, err := parseStruct(l.Binary)
	if err == nil && len(parsed.fields) < len(l.Fields) {
		err = fmt.Errorf("%s has %d fields, and %d are listed", l.Binary, len(parsed.fields), len(l.Fields))
	}
	if err != nil {
		return source.Format{}, f.ErrorAt("", err, "layouts", 0)
	}
	for i, field := range l.Fields {
		for _, is := range field.Is {
			values[is] = strconv.Itoa(i + 1)
		}
		if field.Unit != "" {
			values[strings.Join(field.Is, "+")+"-unit"] = field.Unit
		}
	}
	format, err := f.Preset(binaryFormat, values)
	format.Detect = binaryFormat.Detect
	return format, err
}

// numbered returns options for fields, each of a name and its meaning.
func numbered(pairs ...string) (options []params.Param) {
	for i := 0; i < len(pairs); i += 2 {
		options = append(options, params.Param{Name: pairs[i], Default: 0, Min: 0, Max: maxFields,
			Doc: "number of the field of the " + pairs[i+1] + ", from 1; 0: none"})
	}
	return options
}

// raws are lists of keys, with their formats.
var raws = []struct{ name, format string }{{"i32le", "<I"}, {"i32be", ">I"}, {"i64le", "<Q"}, {"i64be", ">Q"}}

func rawNames() (names []string) {
	for _, r := range raws {
		names = append(names, r.name)
	}
	return names
}

// rawFormat returns the format of a list of keys, "" for other words.
func rawFormat(word string) string {
	for _, r := range raws {
		if r.name == word {
			return r.format
		}
	}
	return ""
}

func openBinary(src *source.Source, opts params.Values) (stream.Reader, stream.Fields, error) {
	format, key := opts.Text("format"), opts.Text("key")
	if raw := rawFormat(format); raw != "" {
		format = raw
	} else if raw := rawFormat(key); raw != "" && format == "" {
		format, key = raw, "1"
	}
	if format == "" {
		return nil, stream.Fields{}, src.Errorf("how are its records laid out? Say it with --input-format "+
			"'binary:format=<IQI,time=1,key=2,size=3', in the notation of Python's struct, or with binary:format=i64be or "+
			"another of %s if it is a list of keys", strings.Join(rawNames(), ", "))
	}
	r := &reader{src: src, unit: source.TimeUnits[opts.Text("time-unit")], ops: source.NewOpFilter(opts.Text("ops")),
		tenants: opts.Text("tenant") != ""}
	var err error
	if r.layout, err = parseStruct(format); err == nil {
		var chosen roles
		if chosen, err = rolesOf(key, opts); err == nil {
			err = r.assign(chosen)
		}
	}
	if err != nil {
		return nil, stream.Fields{}, src.Errorf("%w", err)
	}
	if err := r.skip(opts.Int("skip")); err != nil {
		return nil, stream.Fields{}, err
	}
	r.state(fmt.Sprintf("records of %d bytes", r.record))
	src.Reading.Key = "key field " + key
	return r, r.fields(), nil
}

func rolesOf(key string, opts params.Values) (r roles, err error) {
	if r.key, err = strconv.Atoi(key); err != nil || r.key < 1 {
		return r, fmt.Errorf("key=%s: want the number of a field, from 1", key)
	}
	if tenant := opts.Text("tenant"); tenant != "" {
		if r.tenant, err = strconv.Atoi(tenant); err != nil || r.tenant < 1 {
			return r, fmt.Errorf("tenant=%s: want the number of a field, from 1", tenant)
		}
	}
	r.time, r.size, r.op, r.ttl = opts.Int("time"), opts.Int("size"), opts.Int("op"), opts.Int("ttl")
	return r, nil
}

func (r *reader) state(layout string) {
	reading := r.src.Reading
	reading.Layout, reading.Why = layout, "of other operations"
	if r.time.exists() {
		reading.Time = "time in " + source.UnitName(r.unit)
	}
	if r.tenants {
		reading.Tenant = "tenant"
	}
}

func (r *reader) skip(n int) error {
	head, err := r.src.Peek(n)
	if len(head) < n {
		return r.src.OffsetErrorf(int64(len(head)), "the file ends within the first %d bytes: %w", n, err)
	}
	for n > 0 {
		read, err := r.src.Read(make([]byte, n))
		if err != nil {
			return err
		}
		n -= read
	}
	return nil
}
