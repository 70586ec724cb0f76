package weblogs

import (
	"bytes"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

var w3cFormat = source.Format{
	Name:    "w3c",
	Options: RuleOptions(),
	Writes:  stream.WritesInvalidate,
	Detect: source.CertainIf(func(head source.Head) bool {
		fields := firstFields(head)
		if fields == nil {
			return isCloudFront(head.Lines)
		}
		return bytes.Contains(fields, []byte("cs-")) || bytes.Contains(fields, []byte("sc-"))
	}),
	Open: openW3C,
}

// w3cFields are columns in lower case. sc-bytes counts the header of the response, too: what CloudFront writes of its
// body may be missing. https://www.w3.org/TR/WD-logfile.html,
// https://docs.aws.amazon.com/AmazonCloudFront/latest/DeveloperGuide/standard-logs-reference.html,
// https://learn.microsoft.com/azure/cdn/cdn-azure-diagnostic-logs
var w3cFields = map[string]field{
	"date": date, "time": timeOfTheDay, "timestamp": seconds, "cs-method": method, "cs-uri": target, "cs-uri-stem": path,
	"cs-uri-query": query, "cs-host": host, "cs(host)": host, "c-ip": client, "sc-status": status, "sc-bytes": allBytes,
	"x-edge-result-type": served,
}

const fieldsDirective = "#Fields:"

// firstFields returns the first line that names columns, without its beginning; nil if there is none.
func firstFields(head source.Head) []byte {
	for _, line := range head.Lines {
		if names, ok := bytes.CutPrefix(line, []byte(fieldsDirective)); ok {
			return names
		}
	}
	return nil
}

// cloudFrontColumns are those of CloudFront's standard logs, in their order. Older logs end before later ones.
const cloudFrontColumns = "" +
	"date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status cs(Referer) " +
	"cs(User-Agent) cs-uri-query cs(Cookie) x-edge-result-type x-edge-request-id x-host-header " +
	"cs-protocol cs-bytes time-taken x-forwarded-for ssl-protocol ssl-cipher " +
	"x-edge-response-result-type cs-protocol-version fle-status fle-encrypted-fields c-port " +
	"time-to-first-byte x-edge-detailed-result-type sc-content-type sc-content-len sc-range-start " +
	"sc-range-end"

// firstRequest returns the first line before any that names columns, without other directives; nil if there is none.
func firstRequest(lines [][]byte) []byte {
	for _, line := range lines {
		switch {
		case bytes.HasPrefix(line, []byte(fieldsDirective)):
			return nil
		case len(line) > 0 && line[0] != '#':
			return line
		}
	}
	return nil
}

// cloudFrontLine is the beginning of a line of CloudFront: date, time, edge, bytes, address, method, host, path and
// status.
var cloudFrontLine = regexp.MustCompile(`^\d{4}-\d\d-\d\d\t\d\d:\d\d:\d\d\t[A-Z]{3}\d+[A-Z0-9-]*\t` +
	`\d+\t[0-9A-Fa-f.:]+\t[A-Z]+\t\S+\t/\S*\t\d{3}\t`)

// fewestCloudFront is how many columns the oldest logs of CloudFront have.
const fewestCloudFront = 12

// cloudFrontNames returns the names of the columns of a line that has the shape of CloudFront's; "" for another line.
func cloudFrontNames(line []byte) string {
	names := strings.Fields(cloudFrontColumns)
	columns := bytes.Count(line, []byte("\t")) + 1
	if columns < fewestCloudFront || columns > len(names) || !cloudFrontLine.Match(line) {
		return ""
	}
	return strings.Join(names[:columns], " ")
}

// isCloudFront reports whether most of the first lines are of CloudFront, without a line that names the columns.
func isCloudFront(lines [][]byte) bool {
	requests, fit := 0, 0
	for _, line := range firstRequests(source.WithoutBlankEnd(lines)) {
		if len(line) > 0 && line[0] == '#' {
			continue
		}
		if requests++; cloudFrontNames(line) != "" {
			fit++
		}
	}
	return fit > 0 && 2*fit >= requests
}

// w3cReader reads a log whose columns are named by lines before the requests. They may change.
type w3cReader struct {
	parser  parser
	rules   *Rules
	columns Columns // that the first line with names has
	// The layout with each separator: CloudFront separates names by blanks, and the columns below them by tabs. Nil if
	// the last line with names could not be read.
	bySpace, byTab *layout
}

func openW3C(src *source.Source, opts params.Values) (stream.Reader, stream.Fields, error) {
	head, err := src.Head()
	if err != nil {
		return nil, stream.Fields{}, err
	}
	names, about := firstFields(head), description{}
	if first := firstRequest(head.Lines); first != nil && cloudFrontNames(first) != "" {
		names = []byte(cloudFrontNames(first))
		about.about = fmt.Sprintf("columns of CloudFront by their shape, since no %s comes before them", fieldsDirective)
	}
	if names == nil {
		return nil, stream.Fields{}, src.Errorf("no line that begins with %s within %d bytes: want the names of the "+
			"columns, as IIS and CloudFront write them", fieldsDirective, source.HeadLen)
	}
	r := new(w3cReader)
	if err := r.setColumns(names); err != nil {
		return nil, stream.Fields{}, src.Errorf("%w", err)
	}
	r.columns = r.bySpace.columns()
	columns := r.columns
	columns.Host = columns.Host || slices.ContainsFunc(head.Lines, func(line []byte) bool {
		return len(line) > 0 && line[0] != '#' && r.take(line) == nil && r.parser.entry.hasURL()
	})
	if r.rules, err = NewRules(src, opts, columns); err != nil {
		return nil, stream.Fields{}, err
	}
	r.bySpace.state(src.Reading, about)
	return source.ReadLines(src, r.parse), r.rules.Fields(), nil
}

// setColumns takes the names of the columns that follow.
func (r *w3cReader) setColumns(line []byte) (err error) {
	names := strings.Fields(strings.ToLower(string(line)))
	known := maps.Clone(w3cFields)
	maps.DeleteFunc(known, func(_ string, f field) bool { return r.ignores(f) })
	if slices.Contains(names, "x-host-header") && !r.ignores(host) { // CloudFront: cs(host) is that of the distribution
		known["x-host-header"], known["cs(host)"] = host, ignored
	}
	if slices.Contains(names, "rs-duration") { // Azure CDN: TCP_HIT/200
		known["sc-status"] = resultStatus
	}
	if r.bySpace, err = columnLayout(names, known, " "); err != nil {
		return fmt.Errorf("columns %.200q: %w", line, err)
	}
	r.byTab, err = columnLayout(names, known, "\t")
	return err
}

// ignores reports whether a field is not read because the first columns of the file lack it. Otherwise the object would
// have another key from there on, or a size.
func (r *w3cReader) ignores(f field) bool {
	if r.rules == nil {
		return false
	}
	switch c := r.columns; roles[f].role {
	case hostRole:
		return !c.Host
	case sizeRole:
		return !c.Size
	case statusRole:
		return !c.Status
	case methodRole:
		return !c.Method
	case timeRole, dateRole, timeOfDayRole:
		return !c.Time
	}
	return false
}

func columnLayout(names []string, known map[string]field, separator string) (*layout, error) {
	var parts []part
	for i, name := range names {
		if i > 0 {
			parts = append(parts, part{literal: separator})
		}
		parts = append(parts, part{name: name, field: known[name]})
	}
	l, err := newLayout(parts)
	if err == nil {
		l.quotable = true
	}
	return l, err
}

// directives are the left out lines that are no requests.
const directives = "directives"

func (r *w3cReader) parse(line []byte, rec *stream.Record) error {
	if line[0] == '#' {
		if names, ok := bytes.CutPrefix(line, []byte(fieldsDirective)); ok {
			if err := r.changeColumns(names); err != nil {
				return err
			}
		}
		return r.rules.LeaveOut(directives)
	}
	if err := r.take(line); err != nil {
		return err
	}
	return r.rules.Record(&r.parser.entry, rec)
}

func (r *w3cReader) take(line []byte) error {
	if r.bySpace == nil {
		return fmt.Errorf("the columns of this line could not be read")
	}
	r.parser.layout = r.bySpace
	if bytes.IndexByte(line, '\t') >= 0 {
		r.parser.layout = r.byTab
	}
	return r.parser.parse(line)
}

// changeColumns takes the names of other columns, which must say as much of a request as the first.
func (r *w3cReader) changeColumns(line []byte) error {
	if err := r.setColumns(line); err != nil {
		r.bySpace = nil
		return err
	}
	before, after := r.columns, r.bySpace.columns()
	before.Served, before.Client = after.Served, after.Client // may be missing
	if after != before {
		r.bySpace = nil // the lines that follow cannot be read either
		return fmt.Errorf("columns %.200q: want those of the method, host, status, size and time that the file has "+
			"before: split it at this line", line)
	}
	return nil
}

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
