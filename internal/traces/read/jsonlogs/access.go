package jsonlogs

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/traces/read/weblogs"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// withHeaders are the sizes of responses with their headers, by the documentation of the servers.
var withHeaders = []string{".EdgeResponseBytes", ".httpRequest.responseSize", ".sc-bytes"}

// fields are the paths that an access log has for each role; nil for none.
type fields struct {
	paths [roles]path
	urls  bool // targets are whole URLs, with a host
}

func (f *fields) has(r role) bool { return f.paths[r] != nil }

// target returns the path of the URL, or of the request line that has it.
func (f *fields) target() path {
	if f.has(target) {
		return f.paths[target]
	}
	return f.paths[line]
}

// accessReader turns lines into entries, and entries into requests.
type accessReader struct {
	scanner *scanner
	slots   [roles]int // or none
	fields  *fields
	rules   *weblogs.Rules
	entry   weblogs.Entry
	unit    int64  // of times
	joined  []byte // a date and a time of the day
}

func openAccess(name string, choose func(*survey) *fields) func(*source.Source, params.Values) (stream.Reader,
	stream.Fields, error) {
	return func(src *source.Source, opts params.Values) (stream.Reader, stream.Fields, error) {
		first, err := newSurvey(src)
		if err != nil {
			return nil, stream.Fields{}, err
		}
		f := choose(first)
		if f == nil {
			return nil, stream.Fields{}, src.Errorf("not in the format of %s, since its first lines have no URL: to name the "+
				"fields, use --input-format 'jsonl:key=PATH'", name)
		}
		if seen := first.field(f.target().String()); seen != nil {
			f.urls = bytes.Contains(seen.first.text, []byte("://"))
		}
		r, err := newAccessReader(src, opts, f)
		if err != nil {
			return nil, stream.Fields{}, err
		}
		if f.has(clock) {
			var example []byte
			if seen := first.field(f.paths[clock].String()); seen != nil {
				example = seen.first.text
			}
			r.unit = source.TimeUnits["s"]
			if number, err := strconv.ParseFloat(string(example), 64); err == nil {
				r.unit = source.TimeUnits[source.EpochUnit(number)]
			}
			src.Reading.Time = "time " + f.paths[clock].String() + source.TimeKind(example, r.unit)
			if f.has(timeOfDay) {
				src.Reading.Time = "time " + f.paths[clock].String() + " and " + f.paths[timeOfDay].String()
			}
		}
		return source.ReadLines(src, r.parse), r.rules.Fields(), nil
	}
}

func newAccessReader(src *source.Source, opts params.Values, f *fields) (*accessReader, error) {
	r := &accessReader{scanner: newScanner(), fields: f}
	for i := range r.slots {
		if r.slots[i] = none; f.paths[i] != nil {
			r.slots[i] = r.scanner.add(f.paths[i])
		}
	}
	var err error
	r.rules, err = weblogs.NewRules(src, opts, weblogs.Columns{
		Method: f.has(method) || f.has(line), Host: f.has(host) || f.urls, Client: f.has(client), Status: f.has(status),
		Size: f.has(size), Time: f.has(clock), Served: f.has(served), TTL: f.has(cacheControl),
	})
	if err != nil {
		return nil, err
	}
	if f.has(size) {
		src.Reading.Size = "size " + f.paths[size].String()
		if slices.Contains(withHeaders, f.paths[size].String()) {
			src.Reading.Size += " with headers"
		}
	}
	if f.has(served) {
		src.Reading.Served = "served " + f.paths[served].String()
	}
	return r, nil
}

func (r *accessReader) parse(text []byte, rec *stream.Record) error {
	if err := r.scanner.scan(text); err != nil {
		return err
	}
	r.entry.Reset()
	e := &r.entry
	e.Target, e.Query, e.Host, e.Client = r.text(target), r.text(query), r.text(host), r.text(client)
	e.Method = r.text(method)
	if request := r.text(line); e.Target == nil && len(request) > 0 {
		e.Method, e.Target = weblogs.CutRequest(request)
	}
	if len(e.Target) == 0 { // another event of the server
		return r.rules.Record(e, rec)
	}
	if err := r.numbers(e); err != nil {
		return err
	}
	e.Served = r.servedAs()
	return r.rules.Record(e, rec)
}

// text returns the text or number in the field of a role; nil without one.
func (r *accessReader) text(role role) []byte {
	if r.slots[role] == none {
		return nil
	}
	return r.scanner.values[r.slots[role]].text
}

func (r *accessReader) numbers(e *weblogs.Entry) (err error) {
	if r.slots[status] != none {
		if e.Status, err = weblogs.ParseStatus(r.text(status)); err != nil {
			return r.failed(status, err)
		}
	}
	if text := r.text(size); weblogs.IsKnown(text) {
		if e.Bytes, err = source.ParseSize(text); err != nil {
			return r.failed(size, err)
		}
	}
	if r.slots[clock] != none {
		when := r.text(clock)
		if r.slots[timeOfDay] != none {
			r.joined = append(append(append(r.joined[:0], when...), 'T'), r.text(timeOfDay)...)
			when = r.joined
		}
		if e.Time, err = source.ParseTime(when, r.unit); err != nil {
			return r.failed(clock, err)
		}
	}
	e.SetCacheControl(r.text(cacheControl))
	return nil
}

func (r *accessReader) failed(role role, err error) error {
	return fmt.Errorf("%s: %w", r.fields.paths[role].String(), err)
}

// servedAs returns what the server's own cache found. Without a word for it, a request that was looked up in the cache
// is a miss.
func (r *accessReader) servedAs() stream.Served {
	found := r.text(served)
	if isLooked := string(r.text(looked)) == "true"; r.slots[looked] != none && string(found) != "true" {
		if isLooked {
			return stream.ServedMiss
		}
		return stream.ServedUnknown
	}
	return source.ParseServed(found)
}

// accessNames are the names of fields of a log that was described by hand, as PlainName writes them: those of nginx's
// variables (https://nginx.org/en/docs/varindex.html), and what others call the same.
var accessNames = [roles][]string{
	target: {"requesturi", "requesturl", "uri", "url", "requestpath", "path", "urlpath"},
	line:   {"request", "requestline"},
	query:  {"args", "querystring", "query"},
	method: {"requestmethod", "method", "httpmethod", "verb"},
	host:   {"host", "httphost", "servername", "authority", "domain", "vhost", "virtualhost"},
	client: {"remoteaddr", "clientip", "remoteip", "clientaddr", "client"},
	status: {"status", "statuscode", "responsestatus", "responsecode", "httpstatus"},
	size: {"bodybytessent", "bytessent", "responsebodysize", "responsesize", "responsebytes", "bytes", "size",
		"contentlength"},
	clock: {"timeiso8601", "timelocal", "msec", "@timestamp", "timestamp", "time", "ts", "starttime",
		"datetime", "date"},
	cacheControl: {"senthttpcachecontrol", "upstreamhttpcachecontrol", "cachecontrol"},
	served:       {"upstreamcachestatus", "cachestatus", "cacheresult", "xcache", "cache"},
}

// accessFormat reads what servers write that let users name the fields.
var accessFormat = source.Format{
	Name: "access-json", JSON: true, Options: weblogs.RuleOptions(), Writes: stream.WritesInvalidate,
	Open: openAccess("access-json", chooseByNames),
	Detect: func(head source.Head, _ string) source.Confidence {
		first := head.Lines[:min(len(head.Lines), mostLooked)]
		if source.NoTextTrace(head) == "" || chooseByNames(surveyLines(first)) == nil {
			return source.No
		}
		return source.Likely
	},
}

// mostLooked lines are looked at to recognise the usual names.
const mostLooked = 50

// chooseByNames finds the fields of an access log, all in one object, by their names; nil if they are not there.
func chooseByNames(first *survey) *fields {
	for _, seen := range first.fields {
		if seen.first.kind != text || len(seen.path) > 1 && seen.path[len(seen.path)-1].index != field {
			continue
		}
		isLine := slices.Contains(accessNames[line], seen.plain) && isRequestLine(seen.first.text)
		if !isLine && !slices.Contains(accessNames[target], seen.plain) {
			continue
		}
		f := chooseWithin(first, seen.path[:len(seen.path)-1])
		if f.has(status) && (f.has(target) || isLine) && (f.has(method) || f.has(size) || isLine) {
			return f
		}
	}
	return nil
}

// chooseWithin finds the fields of an object, and where it has none, those of the line.
func chooseWithin(first *survey, parent path) *fields {
	f := new(fields)
	for r, names := range accessNames {
		for _, within := range []path{parent, nil} {
			if p := first.within(within, names); f.paths[r] == nil && p != nil {
				f.paths[r] = p
			}
		}
	}
	switch {
	case f.has(target):
		f.paths[line] = nil
		if name := source.PlainName(f.paths[target].last()); name == "requesturi" || name == "requesturl" {
			f.paths[query] = nil // it is in the target
		}
	case f.has(line):
		f.paths[method], f.paths[query] = nil, nil
	}
	return f
}

// within returns the path of the first of some names that an object has, nil without one.
func (v *survey) within(parent path, names []string) path {
	for _, name := range names {
		for _, seen := range v.fields {
			if n := len(parent); len(seen.path) == n+1 && slices.Equal(seen.path[:n], parent) && seen.first.kind != missing &&
				seen.path[n].index == field && seen.plain == name {
				return seen.path
			}
		}
	}
	return nil
}

func isRequestLine(text []byte) bool { return bytes.Contains(text, []byte(" HTTP/")) }
