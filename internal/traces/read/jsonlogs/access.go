package jsonlogs

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/traces/read/layouts"
	"github.com/cachesim/cachesim/internal/traces/read/weblogs"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// server is a format of access logs whose fields have fixed paths.
type server struct {
	needs  [][]path        // lists of paths; a log has at least one of each
	fields map[role][]path // the best first
	keys   []path          // of a log that is none of access
}

// role is what a field says of a request.
type role uint8

const (
	target role = iota // a path with its query, or a URL
	line               // a request line: GET /a HTTP/1.1
	query
	method
	host
	client
	status
	size
	clock
	timeOfDay    // of a server that logs only the date
	cacheControl // the header of the response, which says how long it stays fresh
	served
	looked // whether the server asked its cache
	roles
)

// roleNames are the roles of fields in files of formats.
var roleNames = map[string]role{"target": target, "line": line, "query": query, "method": method, "host": host,
	"client": client, "status": status, "size": size, "time": clock, "time-of-day": timeOfDay,
	"cache-control": cacheControl, "served": served, "looked": looked}

// Formats are those of this package that are code.
var Formats = []source.Format{jsonlFormat, accessFormat}

// Described returns the format of a file with a layout of JSON lines: an access log if a field is the target of
// requests or the line with it, otherwise paths for jsonl.
func Described(f *layouts.File) (source.Format, error) {
	l := f.Layouts[0]
	s := &server{fields: map[role][]path{}}
	values, isAccess := map[string]string{}, false
	for i, field := range l.Fields {
		if len(field.Is) != 1 || len(field.Path) == 0 {
			return source.Format{}, f.ErrorAt("", fmt.Errorf("want one role and a path, such as {is: key, path: .url}"),
				"layouts", 0, "fields", i)
		}
		r, known := roleNames[field.Is[0]]
		isAccess = isAccess || known && (r == target || r == line)
		paths, err := parsePaths(field.Path)
		if err != nil {
			return source.Format{}, f.ErrorAt("", err, "layouts", 0, "fields", i)
		}
		s.fields[r] = append(s.fields[r], paths...)
		name := field.Is[0]
		if name == "key" {
			s.keys = append(s.keys, paths...)
		}
		values[name] = strings.TrimPrefix(values[name]+"+"+field.Path[0], "+")
		if field.Unit != "" {
			values[name+"-unit"] = field.Unit
		}
	}
	for i, either := range l.Needs {
		paths, err := parsePaths(either)
		if err != nil {
			return source.Format{}, f.ErrorAt("", err, "layouts", 0, "needs", i)
		}
		s.needs = append(s.needs, paths)
	}
	format, err := f.Begin()
	if !isAccess {
		for _, key := range s.keys {
			s.needs = append(s.needs, []path{key})
		}
		format, err = f.Preset(jsonlFormat, values)
	} else {
		format.Carries, format.Options, format.JSON = accessCarries, weblogs.RuleOptions(), true
		format.Open = openAccess(f.Name, s.choose)
	}
	format.Detect = source.CertainIf(s.detects)
	return format, err
}

// detects reports whether the first lines have what the server's logs need. They may be of other events, too.
func (s *server) detects(head source.Head) bool {
	if source.NoTextTrace(head) == "" {
		return false // no JSON
	}
	scanner := newScanner()
	var slots [][]int
	for _, paths := range s.needs {
		var either []int
		for _, p := range paths {
			either = append(either, scanner.add(p))
		}
		slots = append(slots, either)
	}
	for _, line := range head.Lines {
		has := func(slot int) bool { k := scanner.values[slot].kind; return k == text || k == number }
		if scanner.scan(line) == nil &&
			!slices.ContainsFunc(slots, func(either []int) bool { return !slices.ContainsFunc(either, has) }) {
			return true
		}
	}
	return false
}

// choose returns the paths that the first lines have; nil without one of the target.
func (s *server) choose(first *survey) *fields {
	f := new(fields)
	for r, paths := range s.fields {
		for _, p := range paths {
			if first.field(p.String()) != nil && f.paths[r] == nil {
				f.paths[r] = p
			}
		}
	}
	if asked := s.fields[looked]; asked != nil && s.fields[served] != nil { // fields that are only there if they are true
		f.paths[served], f.paths[looked] = s.fields[served][0], asked[0]
	}
	if f.paths[target] == nil {
		return nil
	}
	return f
}

const accessCarries = "key (host and path), time, size, operation, hits of the server, client, as far as the log has " +
	"them"

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
			src.Reading.HeadersInSize = true
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
		return source.Likely.If(source.NoTextTrace(head) != "" && chooseByNames(surveyLines(first)) != nil)
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
