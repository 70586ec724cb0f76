package jsonlogs

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/traces/read/layouts"
	"github.com/cachesim/cachesim/internal/traces/read/weblogs"
	"github.com/cachesim/cachesim/internal/traces/source"
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
		for _, text := range field.Path {
			p, err := parsePath(text)
			if err != nil {
				return source.Format{}, f.ErrorAt("", err, "layouts", 0, "fields", i)
			}
			s.fields[r] = append(s.fields[r], p)
			if field.Is[0] == "key" {
				s.keys = append(s.keys, p)
			}
		}
		name := field.Is[0]
		values[name] = strings.TrimPrefix(values[name]+"+"+field.Path[0], "+")
		if field.Unit != "" {
			values[name+"-unit"] = field.Unit
		}
	}
	for i, either := range l.Needs {
		var paths []path
		for _, text := range either {
			p, err := parsePath(text)
			if err != nil {
				return source.Format{}, f.ErrorAt("", err, "layouts", 0, "needs", i)
			}
			paths = append(paths, p)
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
