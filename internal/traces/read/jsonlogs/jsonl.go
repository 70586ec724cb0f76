package jsonlogs

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/suggest"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

const jsonlName = "jsonl"

var jsonlFormat = source.Format{
	Name:    jsonlName,
	Options: jsonlOptions(),
	JSON:    true,
	Detect:  detectJSONL,
	Open:    openJSONL,
}

// jsonlOptions are those of tables, with paths instead of columns.
func jsonlOptions() []params.Param {
	options := []params.Param{{Name: "key", Default: "", Doc: "path of the key, such as .request.uri, .headers.Host[0] " +
		"or .\"cache key\", or several joined by +; by default a field of the object itself named " +
		strings.Join(source.KeyNames, ", ") + " (case and the characters _-.# do not matter)"}}
	for _, o := range []struct{ name, what string }{{"time", "time"}, {"size", "size in bytes"}, {"op", "operation"},
		{"ttl", "time to live"}, {"served", "what the server's own cache found, hit or miss"}} {
		options = append(options, params.Param{Name: o.name, Default: "", Doc: "path of the " + o.what +
			" (none: ignore it); by default a field named " + strings.Join(source.KnownNames(o.name), ", ")})
	}
	return append(options,
		params.Param{Name: "tenant", Default: "", Doc: "path of the tenant, for dividing a cache among tenants; by default " +
			"none"},
		source.TimeUnitOption(), source.TTLUnitOption(), source.OpsOption(), source.OpCodesOption())
}

// detectJSONL takes any objects on lines. The first may be longer than the bytes at hand.
func detectJSONL(head source.Head, _ string) source.Confidence {
	s := source.JSONScanner{}
	for i, line := range source.WithoutBlankEnd(head.Lines) {
		s.Reset(line)
		if s.Peek() != '{' || s.Skip() != nil || s.End() != nil {
			if i == 0 {
				return source.No
			}
			break // a line that is damaged does not change the format
		}
	}
	s.Reset(head.Bytes)
	return source.Possible.If(s.Peek() == '{' && (len(head.Lines) > 0 || len(head.Bytes) >= source.HeadLen))
}

// jsonlReader parses lines for source.ReadLines.
type jsonlReader struct {
	src                                 *source.Source
	scanner                             *scanner
	keys                                []int // slots of the parts of the key
	time, size, op, ttl, served, tenant int   // slots, or none

	paths    map[int]string // of slots, for errors
	timeUnit int64
	ttlUnit  int64
	ops      source.OpFilter
	codes    source.OpCodes
	joined   source.KeyParts
}

func openJSONL(src *source.Source, opts params.Values) (stream.Reader, stream.Fields, error) {
	first, err := newSurvey(src)
	if err != nil {
		return nil, stream.Fields{}, err
	}
	r := &jsonlReader{src: src, scanner: newScanner(), paths: map[int]string{}, ops: source.NewOpFilter(opts.Text("ops")),
		ttlUnit: source.TimeUnits[opts.Text("ttl-unit")]}
	if err := r.choose(first, opts); err != nil {
		return nil, stream.Fields{}, src.Errorf("%w", err)
	}
	if r.codes, err = source.ParseOpCodes(opts); err == nil && r.codes != nil && r.op == none {
		err = fmt.Errorf("op-codes=%s: no field has operations; name it, as in jsonl:op=PATH", opts.Text(source.OpCodesName))
	}
	if err != nil {
		return nil, stream.Fields{}, src.Errorf("%w", err)
	}
	src.Reading.Why = "without " + opts.Text("key")
	if opts.Text("ops") != "all" {
		src.Reading.Why += ", or not " + opts.Text("ops")
	}
	return source.ReadLines(src, r.parse), stream.Fields{Time: r.time != none, Size: r.size != none, Op: r.op != none,
		TTL: r.ttl != none, Served: r.served != none, Tenant: r.tenant != none, SizeMayLack: r.size != none}, nil
}

// choose finds the fields that the options name, or those with known names, and states them.
func (r *jsonlReader) choose(first *survey, opts params.Values) error {
	keys, err := chooseKey(first, opts.Text("key"))
	if err != nil {
		return err
	}
	for _, p := range keys {
		r.keys = append(r.keys, r.slot(p))
	}
	reading := r.src.Reading
	opts["key"] = joinPaths(keys)
	reading.Key = "key " + opts.Text("key")
	for _, o := range []struct {
		name   string
		slot   *int
		stated *string
	}{{"time", &r.time, &reading.Time}, {"size", &r.size, &reading.Size}, {"op", &r.op, &reading.Op},
		{"ttl", &r.ttl, &reading.TTL}, {"served", &r.served, &reading.Served}, {"tenant", &r.tenant, &reading.Tenant}} {
		p, err := chooseField(first, o.name, opts.Text(o.name))
		if err != nil {
			return err
		}
		if *o.slot = none; p == nil {
			continue
		}
		*o.slot = r.slot(p)
		opts[o.name] = p.String()
		*o.stated = o.name + " " + p.String()
	}
	r.units(first, opts)
	for _, f := range first.keys() {
		if !slices.ContainsFunc(keys, func(p path) bool { return p.String() == f.name }) {
			reading.Others = append(reading.Others, f.name)
		}
	}
	return nil
}

func (r *jsonlReader) slot(p path) int {
	slot := r.scanner.add(p)
	r.paths[slot] = p.String()
	return slot
}

func (r *jsonlReader) units(first *survey, opts params.Values) {
	if r.time != none {
		var example []byte
		if f := first.field(opts.Text("time")); f != nil {
			example = f.first.text
		}
		r.timeUnit = source.TimeUnit(opts, example)
		r.src.Reading.Time += source.TimeKind(example, r.timeUnit)
	}
	if r.ttl != none {
		r.src.Reading.TTL += " in " + opts.Text("ttl-unit")
	}
}

func chooseKey(first *survey, choice string) ([]path, error) {
	if choice == "" {
		if f := first.known("key"); f != nil {
			return []path{f.path}, nil
		}
		return nil, noKey(first)
	}
	paths, err := splitPaths(choice)
	if err != nil {
		return nil, fmt.Errorf("key %w", err)
	}
	for _, p := range paths {
		if err := first.check("key", p); err != nil {
			return nil, err
		}
	}
	return paths, nil
}

// noKey says that no field is known to have the key, and which may have it.
func noKey(first *survey) error {
	option, others := first.suggestion(jsonlName)
	if wrapper := first.wrapper(); wrapper != "" {
		quoted := wrapper
		if strings.ContainsAny(wrapper, "[\"") { // for a shell
			quoted = "'" + wrapper + "'"
		}
		return fmt.Errorf("%s has lines of another log: jq -r %s FILE | cachesim run -", wrapper, quoted)
	}
	switch {
	case option == "" && len(first.names()) == 0:
		return errors.New("want JSON objects, one on a line, with fields that have values")
	case option == "":
		return fmt.Errorf("no field looks like keys: %s; if one has them all the same, name it with --input-format "+
			"%s:key=PATH (fields %s)", source.KeyIs, jsonlName, suggest.List(first.names()))
	case len(others) == 0:
		return fmt.Errorf("cannot tell which field has the key; judging by the first lines: %s", option)
	}
	return fmt.Errorf("cannot tell which field has the key; judging by the first lines: %s (or %s)", option,
		suggest.List(others))
}

func chooseField(first *survey, option, choice string) (path, error) {
	switch choice {
	case "none":
		return nil, nil
	case "":
		if f := first.known(option); f != nil {
			return f.path, nil
		}
		return nil, nil
	}
	p, err := parsePath(choice)
	if err != nil {
		return nil, fmt.Errorf("%s %w", option, err)
	}
	return p, first.check(option, p)
}

// known returns the field of the object itself whose name is known for an option, nil without one.
func (v *survey) known(option string) *surveyed {
	for _, name := range source.KnownNames(option) {
		for _, f := range v.fields {
			if len(f.path) == 1 && f.plain == name && f.fits(option) && !(option == "key" && f.isConstant()) &&
				!(name == "name" && source.NamesLogger(v.names())) {
				return f
			}
		}
	}
	return nil
}

// isConstant reports whether so many lines have one value that it is a word of the format, and no key.
func (f *surveyed) isConstant() bool {
	const fewest = 10
	return f.Rows >= fewest && len(f.Distinct) == 1
}

// fits reports whether a field may be used for an option, judging by its first value.
func (f *surveyed) fits(option string) bool {
	if f.first.kind == truth {
		return option == "served"
	}
	return f.first.kind != missing
}

// check refuses a path at which none of the first lines has a value.
func (v *survey) check(option string, p path) error {
	f := v.field(p.String())
	switch {
	case f == nil && !p.surveyed():
		return nil
	case f == nil || f.first.kind == missing && !f.nested:
		return fmt.Errorf("%s: %w", option, suggest.Unknown("path", p.String(), v.names()))
	case f.first.kind == missing:
		return fmt.Errorf("%s: path %q has an object or an array, want a text or a number: %s", option, p.String(),
			suggest.List(slices.DeleteFunc(v.names(), func(n string) bool { return !strings.HasPrefix(n, p.String()) })))
	}
	return nil
}

func (r *jsonlReader) parse(line []byte, rec *stream.Record) error {
	if err := r.scanner.scan(line); err != nil {
		return err
	}
	*rec = stream.Record{}
	if err := r.setKey(rec); err != nil {
		return err
	}
	var err error
	if v := r.at(r.time); v != nil {
		if rec.Time, err = source.ParseTime(v.text, r.timeUnit); err != nil {
			return r.failed(r.time, err)
		}
	}
	if v := r.at(r.size); v != nil && v.kind == missing {
		rec.SizeUnknown = true
	} else if v != nil {
		if err = source.SetSize(rec, v.text); err != nil {
			return r.failed(r.size, err)
		}
	}
	if v := r.at(r.op); v != nil && v.kind != missing {
		if rec.Op, err = r.codes.Parse(v.text); err != nil {
			return r.failed(r.op, fmt.Errorf("%w; or use jsonl:op=none to ignore it", err))
		}
	}
	if v := r.at(r.ttl); v != nil && v.kind != missing {
		if rec.TTL, err = source.ParseTTL(v.text, r.ttlUnit); err != nil {
			return r.failed(r.ttl, err)
		}
	}
	if v := r.at(r.served); v != nil {
		rec.Served = source.ParseServed(v.text)
	}
	if v := r.at(r.tenant); v != nil {
		rec.Tenant = v.text
	}
	if !r.ops.Has(rec.Op) {
		return source.ErrLeftOut
	}
	return nil
}

// at returns the value in a slot, nil without a slot.
func (r *jsonlReader) at(slot int) *value {
	if slot == none {
		return nil
	}
	return &r.scanner.values[slot]
}

func (r *jsonlReader) failed(slot int, err error) error {
	return fmt.Errorf("%s: %w", r.paths[slot], err)
}

// setKey takes the key from its field, or from several. A line without any of them is no request: programs log other
// events, too.
func (r *jsonlReader) setKey(rec *stream.Record) error {
	for _, slot := range r.keys {
		switch v := r.at(slot); v.kind {
		case missing:
			return source.ErrLeftOut
		case nested, truth:
			return r.failed(slot, fmt.Errorf("%s, want a text or a number as the key", kindNames[v.kind]))
		}
	}
	first := r.at(r.keys[0])
	key := first.text
	if len(r.keys) > 1 {
		r.joined.Reset()
		for _, slot := range r.keys {
			r.joined.Add(r.at(slot).text)
		}
		key = r.joined.Text()
	} else if first.kind == number {
		if n, whole := source.ParseWhole(key); whole { // also 1e3, which a text may have in another sense
			rec.Num = n
			return nil
		}
	}
	if len(key) == 0 {
		return r.failed(r.keys[0], errors.New("the key is empty"))
	}
	rec.SetKey(key)
	return nil
}
