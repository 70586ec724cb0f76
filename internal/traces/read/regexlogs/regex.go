// Package regexlogs reads logs whose lines a regular expression cuts: its named groups are the key, the time and the
// other fields of a request. It reads logs that fit no other format.
package regexlogs

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/suggest"
	"github.com/cachesim/cachesim/internal/traces/read/layouts"
	"github.com/cachesim/cachesim/internal/traces/read/weblogs"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// Formats are those that this package reads.
var Formats = []source.Format{regexFormat}

var regexFormat = source.Format{
	Name: "regex",
	Options: slices.Concat(weblogs.RuleOptions(), []params.Param{
		source.TimeUnitOption(), source.TTLUnitOption(), source.OpsOption(), source.OpCodesOption(),
		{Name: "unmatched", Default: "error", Choices: []string{"error", "skip"}, Doc: "lines that do not match: an error, " +
			"or skipped and counted"},
		{Name: "pattern", Default: "", Rest: true, Doc: "regular expression of Go (RE2) that finds a request in a line, as " +
			"the last option or in quotes; its named groups are " + strings.Join(groupNames, ", ") + " (or cache " +
			"for served); with path instead of key the rules of access logs hold"},
	}),
	Detect: func(source.Head, string) source.Confidence { return source.No },
	Open:   openRegex,
}

// Described returns the format of a file whose layout is a regular expression. Lines must match, and times and sizes be
// such. A pattern without a word of its own may match nearly any line.
func Described(f *layouts.File) (source.Format, error) {
	pattern := f.Layouts[0].Pattern
	if err := new(regexReader).compile(pattern); err != nil {
		return source.Format{}, f.ErrorAt("", err, "layouts", 0)
	}
	format, err := f.Preset(regexFormat, map[string]string{"pattern": pattern})
	sure := source.Possible
	if parsed, err := syntax.Parse(pattern, syntax.Perl); err == nil && hasWord(parsed) {
		sure = source.Certain
	}
	format.Detect = func(head source.Head, _ string) source.Confidence {
		r := &regexReader{timeUnit: source.TimeUnits["s"], ttlUnit: source.TimeUnits["s"]}
		parse := func(line []byte) error {
			_, err := r.begin(line, new(stream.Record))
			return err
		}
		return sure.If(r.compile(pattern) == nil && source.MostLines(head.Lines, parse))
	}
	return format, err
}

// hasWord reports whether a pattern has at least three letters in a row that stand for themselves.
func hasWord(pattern *syntax.Regexp) bool {
	letters := 0
	for _, c := range pattern.Rune {
		if unicode.IsLetter(c) {
			letters++
		}
	}
	return pattern.Op == syntax.OpLiteral && letters >= 3 || slices.ContainsFunc(pattern.Sub, hasWord)
}

// group is what a named group of a pattern has.
type group int

const (
	keyGroup group = iota
	pathGroup
	timeGroup
	sizeGroup
	opGroup
	ttlGroup
	servedGroup
	tenantGroup
	hostGroup
	queryGroup
	methodGroup
	statusGroup
	clientGroup
)

// groupNames are the names of groups. Groups without a name only group.
var groupNames = []string{keyGroup: "key", pathGroup: "path", timeGroup: "time", sizeGroup: "size", opGroup: "op",
	ttlGroup: "ttl", servedGroup: "served", tenantGroup: "tenant", hostGroup: "host", queryGroup: "query",
	methodGroup: "method", statusGroup: "status", clientGroup: "client"}

// groupNamed returns the group with a name.
func groupNamed(name string) (group, error) {
	if name == "cache" {
		name = "served"
	}
	if i := slices.Index(groupNames, name); i >= 0 {
		return group(i), nil
	}
	return 0, suggest.Unknown("group", name, groupNames)
}

// regexReader parses lines for source.ReadLines.
type regexReader struct {
	src     *source.Source
	pattern *regexp.Regexp
	groups  [clientGroup + 1]int // their numbers in the pattern, 0 for none
	match   []int                // of the last line
	line    []byte

	timeUnit, ttlUnit int64
	ops               source.OpFilter
	codes             source.OpCodes
	skips             bool // lines that do not match

	rules *weblogs.Rules // nil if there is a key
	entry weblogs.Entry
}

func openRegex(src *source.Source, opts params.Values) (stream.Reader, stream.Fields, error) {
	r := &regexReader{src: src, ops: source.NewOpFilter(opts.Text("ops")), skips: opts.Text("unmatched") == "skip",
		ttlUnit: source.TimeUnits[opts.Text("ttl-unit")]}
	err := r.compile(opts.Text("pattern"))
	if err == nil {
		err = r.checkTenant(opts)
	}
	if err == nil {
		r.codes, err = source.ParseOpCodes(opts)
	}
	if err == nil && r.codes != nil && !r.has(opGroup) {
		err = fmt.Errorf("op-codes=%s: the pattern has no group op", opts.Text(source.OpCodesName))
	}
	if err != nil {
		return nil, stream.Fields{}, src.Errorf("%w", err)
	}
	head, err := src.Head()
	if err != nil {
		return nil, stream.Fields{}, err
	}
	if !slices.ContainsFunc(head.Lines, r.find) && len(head.Lines) > 0 {
		return nil, stream.Fields{}, src.Errorf("the pattern matches none of the first %d lines (the first is %.100q)",
			len(head.Lines), head.Lines[0])
	}
	r.state(opts)
	if r.has(keyGroup) {
		return source.ReadLines(src, r.parse), r.fields(), nil
	}
	return r.openAccess(opts)
}

func (r *regexReader) fields() stream.Fields {
	return stream.Fields{Time: r.has(timeGroup), Size: r.has(sizeGroup), Op: r.has(opGroup) || r.has(methodGroup),
		TTL:    r.has(ttlGroup),
		Served: r.has(servedGroup), Tenant: r.has(tenantGroup), SizeMayLack: r.has(sizeGroup)}
}

// openAccess begins to read a log whose requests follow the rules of access logs.
func (r *regexReader) openAccess(opts params.Values) (stream.Reader, stream.Fields, error) {
	own := maps.Clone(opts)
	own["tenant"] = "" // the groups have it
	var err error
	r.rules, err = weblogs.NewRules(r.src, own, weblogs.Columns{
		Method: r.has(methodGroup), Host: r.has(hostGroup), Client: r.has(clientGroup), Status: r.has(statusGroup),
		Size: r.has(sizeGroup), Time: r.has(timeGroup), TTL: r.has(ttlGroup), Served: r.has(servedGroup),
	})
	if err != nil {
		return nil, stream.Fields{}, err
	}
	fields := r.rules.Fields()
	fields.Tenant = r.has(tenantGroup)
	return source.ReadLines(r.src, r.parseAccess), fields, nil
}

// compile reads the pattern and checks its groups.
func (r *regexReader) compile(pattern string) error {
	if pattern == "" {
		return errors.New(`no pattern: want one with a named group for the key, such as --input-format ` +
			`'regex:pattern=(?<time>\S+) (?<key>\S+) (?<size>\d+)'`)
	}
	var err error
	if r.pattern, err = regexp.Compile(pattern); err != nil {
		return fmt.Errorf("pattern: %w", err)
	}
	for i, name := range r.pattern.SubexpNames() {
		if name == "" {
			continue
		}
		g, err := groupNamed(name)
		switch {
		case err != nil:
			return fmt.Errorf("pattern: %w", err)
		case r.has(g):
			return fmt.Errorf("pattern: two groups are %s: want one", groupNames[g])
		}
		r.groups[g] = i
	}
	return r.checkGroups()
}

func (r *regexReader) checkGroups() error {
	ofAccess := []group{hostGroup, queryGroup, statusGroup}
	has := slices.IndexFunc(ofAccess, r.has)
	switch {
	case !r.has(keyGroup) && !r.has(pathGroup):
		return fmt.Errorf("pattern: no group for the key: want (?<key>...), or (?<path>...) with the rules of access logs")
	case r.has(keyGroup) && r.has(pathGroup):
		return fmt.Errorf("pattern: groups key and path are both the key: want one")
	case r.has(keyGroup) && has >= 0:
		return fmt.Errorf("pattern: group %s has no effect beside key: want path instead of key, or no such group",
			groupNames[ofAccess[has]])
	case r.has(pathGroup) && r.has(opGroup):
		return fmt.Errorf("pattern: group op has no effect beside path: want method")
	case r.has(opGroup) && r.has(methodGroup):
		return fmt.Errorf("pattern: groups op and method are both the operation: want one")
	}
	return nil
}

// checkTenant takes a group as the tenant if the user names one, and refuses options that have no effect.
func (r *regexReader) checkTenant(opts params.Values) error {
	if name := opts.Text("tenant"); name != "" && name != "tenant" {
		g, err := groupNamed(name)
		if err != nil || !r.has(g) {
			return fmt.Errorf("tenant %q: the pattern has no such group", name)
		}
		r.groups[tenantGroup] = r.groups[g]
	}
	if r.has(pathGroup) {
		return nil
	}
	rules := slices.DeleteFunc(weblogs.RuleOptions(), func(p params.Param) bool { return p.Name == "tenant" })
	return params.NoEffect(rules, opts, "a group key", "a pattern with path instead")
}

func (r *regexReader) has(g group) bool { return r.groups[g] > 0 }

func (r *regexReader) state(opts params.Values) {
	reading := r.src.Reading
	reading.Key = "key"
	if r.has(timeGroup) {
		example := r.text(timeGroup)
		r.timeUnit = source.TimeUnit(opts, example)
		reading.Time = "time" + source.TimeKind(example, r.timeUnit)
	}
	if r.has(ttlGroup) {
		reading.TTL = "ttl in " + opts.Text("ttl-unit")
	}
	if r.has(tenantGroup) {
		reading.Tenant = "tenant"
	}
	if opts.Text("ops") != "all" {
		reading.Why = "not " + opts.Text("ops")
	}
}

func (r *regexReader) find(line []byte) bool {
	r.line, r.match = line, r.pattern.FindSubmatchIndex(line)
	return r.match != nil
}

// text returns what a group has; nil without such a group, and if it took no part in the match.
func (r *regexReader) text(g group) []byte {
	at := r.groups[g]
	if at == 0 || r.match[2*at] < 0 {
		return nil
	}
	return r.line[r.match[2*at]:r.match[2*at+1]]
}

// begin finds the request in a line, and what both kinds of logs have of it.
func (r *regexReader) begin(line []byte, rec *stream.Record) (size int64, err error) {
	*rec = stream.Record{}
	switch found := r.find(line); {
	case !found && r.skips:
		return 0, r.leaveOut("that do not match")
	case !found:
		return 0, fmt.Errorf("%.100q does not match the pattern; unmatched=skip skips such lines", line)
	}
	if r.has(timeGroup) {
		if rec.Time, err = source.ParseTime(r.text(timeGroup), r.timeUnit); err != nil {
			return 0, err
		}
	}
	if rec.TTL, err = source.ParseTTL(r.text(ttlGroup), r.ttlUnit); err != nil {
		return 0, err
	}
	rec.Served = source.ParseServed(r.text(servedGroup))
	size = weblogs.Unknown
	if text := r.text(sizeGroup); weblogs.IsKnown(text) {
		size, err = source.ParseSize(text)
	}
	return size, err
}

// leaveOut counts a line that is not a request with its reason.
func (r *regexReader) leaveOut(reason string) error {
	r.src.Reading.Reasons = stream.Count(r.src.Reading.Reasons, reason, 1)
	return source.ErrLeftOut
}

func (r *regexReader) parse(line []byte, rec *stream.Record) error {
	size, err := r.begin(line, rec)
	if err != nil {
		return err
	}
	rec.Size, rec.SizeUnknown = max(size, 0), size < 0
	key := r.text(keyGroup)
	if len(key) == 0 {
		return errors.New("group key: the key is empty")
	}
	rec.SetKey(key)
	op := r.text(opGroup)
	if r.has(methodGroup) {
		op = r.text(methodGroup)
	}
	if rec.Op, err = r.codes.Parse(op); err != nil {
		return fmt.Errorf("%w; or name the group otherwise", err)
	}
	rec.Tenant = r.text(tenantGroup)
	if !r.ops.Has(rec.Op) {
		return r.leaveOut("of other operations")
	}
	return nil
}

func (r *regexReader) parseAccess(line []byte, rec *stream.Record) error {
	size, err := r.begin(line, rec)
	if err != nil {
		return err
	}
	r.entry.Reset()
	e := &r.entry
	e.Method, e.Host, e.Target, e.Query = r.text(methodGroup), r.text(hostGroup), r.text(pathGroup), r.text(queryGroup)
	e.Client, e.Bytes, e.Time, e.TTL, e.Served = r.text(clientGroup), size, rec.Time, rec.TTL, rec.Served
	if r.has(statusGroup) {
		if e.Status, err = weblogs.ParseStatus(r.text(statusGroup)); err != nil {
			return err
		}
	}
	err = r.rules.Record(e, rec)
	rec.Tenant = r.text(tenantGroup)
	return err
}
