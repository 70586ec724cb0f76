package weblogs

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/traces/sizes"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// Rules turn entries of an access log into requests. All formats of access logs have the same.
type Rules struct {
	src      *source.Source
	columns  Columns
	methods  methodList
	statuses *statusSet
	query    queryRule
	uncached string
	noHost   bool         // the host is no part of the key
	tenant   string       // "" for none, or one of chooseTenant's
	sizes    *sizes.Table // of objects that were sent before; nil if nothing uses sizes

	tracker *tracker // nil if the rules leave no tracking parameters

	key   []byte // room for a key that is no part of the line
	host  []byte // room for the tenant or label
	parts [][]byte
}

// NewRules returns the rules that the options of a format state (RuleOptions), for a log with these columns, and says
// in the reading of src what they are. The caller says there where the columns are.
func NewRules(src *source.Source, opts params.Values, columns Columns) (*Rules, error) {
	r := &Rules{src: src, columns: columns, uncached: opts.Text("uncached"), noHost: opts.Text("host") == "drop"}
	err := CheckRules(opts)
	if err == nil {
		r.tenant, err = chooseTenant(opts.Text("tenant"), columns)
	}
	if err != nil {
		return nil, src.Errorf("%w", err)
	}
	r.query, _ = parseQuery(opts.Text("query"))
	r.methods, _ = parseMethods(opts.Text("methods"))
	r.statuses, _ = parseStatuses(opts.Text("statuses"))
	if columns.Size && !src.In.NoSizes {
		r.sizes = src.Shared("sizes of objects in access logs", func() any {
			return sizes.NewTable(src.In.Budget.Part(sizes.Share, sizes.Most))
		}).(*sizes.Table)
	}
	if len(r.query.less) == 0 && !r.query.drop {
		r.tracker = src.Shared("tracking parameters in access logs", newTracker).(*tracker)
		src.Reading.Tracked = r.tracker.counts
	}
	r.state(opts)
	return r, nil
}

// CheckRules refuses values of RuleOptions that NewRules does not take for any log. A format that may not recognise a
// log checks them first.
func CheckRules(opts params.Values) error {
	_, err := parseMethods(opts.Text("methods"))
	if err == nil {
		_, err = parseStatuses(opts.Text("statuses"))
	}
	if err == nil {
		_, err = parseQuery(opts.Text("query"))
	}
	return err
}

// chooseTenant returns the column of the tenants. "tenant" is what --tenant column names if the user names no column.
func chooseTenant(text string, columns Columns) (string, error) {
	has := map[string]bool{"host": columns.Host, "client": columns.Client, "method": columns.Method,
		"status": columns.Status, "path": true, "directory": true}
	name := strings.ToLower(text)
	if name == "tenant" {
		name = "host"
	}
	is, known := has[name]
	switch {
	case text == "":
		return "", nil
	case !known:
		return "", fmt.Errorf("column %q: want host, client, method, status, path or directory", text)
	case !is:
		return "", fmt.Errorf("column %q: the log has no %s", text, name)
	}
	return name, nil
}

// state says in the reading which requests count, and what their key is.
func (r *Rules) state(opts params.Values) {
	reading := r.src.Reading
	if r.columns.Method {
		reading.Request = opts.Text("methods")
	}
	if r.columns.Status {
		reading.Request = strings.TrimSpace(reading.Request + " with " + opts.Text("statuses"))
	}
	reading.Key = "key path"
	if r.columns.Host && !r.noHost {
		reading.Key = "key host and path"
	}
	reading.Key += r.query.describe()
	if r.tenant != "" {
		reading.Tenant = "tenant " + r.tenant
	}
}

// Fields says what the records carry.
func (r *Rules) Fields() stream.Fields {
	c := r.columns
	return stream.Fields{Time: c.Time, Size: c.Size, Op: c.Method, TTL: c.TTL, Served: c.Served, Tenant: r.tenant != "",
		SizeMayLack: c.Size}
}

// longestKey bounds a URL. Servers accept 8 KiB, unless they are told otherwise.
const longestKey = 64 << 10

// What becomes of rows that are not plain reads, as the note on what was recognised counts them.
const (
	otherMethods  = "with other methods"
	otherStatuses = "with other statuses"
	notHTTP       = "that are no HTTP requests"
	noURL         = "without a URL"
	notStored     = "that no cache may store"
	wentPast      = "that went past the server's cache"
	longURLs      = "with URLs of more than 64 KiB"
)

// Record fills in the request that an entry describes. It returns source.ErrLeftOut for one that a cache would not
// serve, and counts it with the reason. The record is valid until the next call, and as long as the entry.
//
// The key is the host, if the log states it, and the path. A request with an unsafe method (RFC 9110 section 9.2.1) is
// a write or, for DELETE and PURGE, a deletion, which invalidates what is cached if it succeeds (RFC 9111 section 4.4).
// A response without a body, to HEAD or with status 304, has the object's last sent size, if it was sent before: a
// cache serves it without a byte of the body, but must hold the object. A range request (206) has the size of the part
// that was sent.
func (r *Rules) Record(e *Entry, rec *stream.Record) error {
	*rec = stream.Record{Time: e.Time, TTL: e.TTL, Served: e.Served}
	var reason string
	if rec.Op, reason = r.operation(e); reason != "" {
		return r.LeaveOut(reason)
	}
	if len(e.Host)+len(e.Target)+len(e.Query) > longestKey {
		return r.LeaveOut(longURLs)
	}
	key, changed := r.keyOf(e)
	if len(key) == 0 { // without the query, which is dropped
		return r.LeaveOut(noURL)
	}
	rec.SetKey(key)
	if changed {
		r.src.Reading.Notable = stream.Count(r.src.Reading.Notable, "with parameters that do not belong to the key", 1)
	}
	if r.tracker != nil {
		r.tracker.see(key)
	}
	if e.Served == stream.ServedPass {
		switch r.uncached {
		case "drop":
			return r.LeaveOut(wentPast)
		case "load":
			rec.Served = stream.ServedUnknown
		}
	}
	if r.sizes != nil {
		r.setSize(e, rec, key)
	}
	switch reading := r.src.Reading; e.Status {
	case statusNotModified:
		reading.Notable = stream.Count(reading.Notable, "conditional (304)", 1)
	case statusPartial:
		reading.Notable = stream.Count(reading.Notable, "of a range (206)", 1)
	}
	switch r.tenant {
	case "host":
		rec.Tenant = r.hostOf(e)
	case "client":
		rec.Tenant = addressOf(e.Client)
	case "method":
		rec.Tenant = e.Method
	case "status":
		r.host = strconv.AppendInt(r.host[:0], int64(e.Status), 10)
		rec.Tenant = r.host
	case "path", "directory":
		rec.Tenant = r.pathOf(e)
	}
	return nil
}

// pathOf returns the path of an entry without its query, or the first directory of it.
func (r *Rules) pathOf(e *Entry) []byte {
	path := e.Target
	if host, rest := splitURL(path); host != nil {
		path = rest
	}
	path, _, _ = bytes.Cut(path, []byte("?"))
	if r.tenant == "directory" && len(path) > 1 {
		if end := bytes.IndexByte(path[1:], '/'); end >= 0 {
			return path[:end+1]
		}
		return []byte("/")
	}
	return path
}

// LeaveOut counts a row that is not a request with its reason, which follows a number: "with other methods". It returns
// source.ErrLeftOut.
func (r *Rules) LeaveOut(reason string) error {
	reading := r.src.Reading
	reading.Reasons = stream.Count(reading.Reasons, reason, 1)
	return source.ErrLeftOut
}

// Statuses with a meaning of their own.
const (
	statusPartial     = 206
	statusNotModified = 304
)

// squidError begins what Squid writes instead of a URL for what it cannot read.
var squidError = []byte("error:")

// operation returns what a request does, and otherwise why it is left out.
func (r *Rules) operation(e *Entry) (op stream.Op, leftOut string) {
	switch {
	case !IsKnown(e.Target) && IsKnown(e.Method) && !isMethod(e.Method),
		bytes.HasPrefix(e.Target, squidError):
		return 0, notHTTP
	case !IsKnown(e.Target):
		return 0, noURL
	case !IsKnown(e.Method) || r.methods.reads(e.Method):
		if e.Status != 0 && !r.statuses.has(e.Status) {
			return 0, otherStatuses
		}
		if e.NoStore {
			return 0, notStored
		}
		return stream.OpRead, ""
	case !isMethod(e.Method):
		return 0, notHTTP
	case !isUnsafe(e.Method):
		return 0, otherMethods
	case e.Status >= 400 || e.Status != 0 && e.Status < 200: // it changed nothing
		return 0, otherStatuses
	case e.Method[0] == 'D' || string(e.Method) == "PURGE":
		return stream.OpDelete, ""
	}
	return stream.OpWrite, ""
}

// isUnsafe reports whether a method changes an object: those of RFC 9110 and RFC 5789, and PURGE, with which Squid and
// Varnish drop an object from their caches.
func isUnsafe(method []byte) bool {
	switch string(method) {
	case "PUT", "POST", "PATCH", "DELETE", "PURGE":
		return true
	}
	return false
}

func (r *Rules) setSize(e *Entry, rec *stream.Record, key []byte) {
	size := e.Bytes
	if rec.Op != stream.OpRead || e.Status == statusNotModified || string(e.Method) == "HEAD" {
		size = e.ObjectSize // the response has no body, or that of another object
	}
	if size >= 0 && e.Status != statusPartial {
		r.sizes.Set(key, size)
		rec.Size = size
		return
	}
	known, ok := r.sizes.Of(key)
	if size >= 0 { // the object has this part, and maybe more
		r.sizes.Set(key, max(size, known))
		rec.Size = size
		return
	}
	rec.Size, rec.SizeUnknown = known, !ok
}

// keyOf returns the key of a request: its host, if that is known, and its path with its query. It is part of the line
// where that has the key in one piece. changed says that parameters of the query are no part of the key.
func (r *Rules) keyOf(e *Entry) (key []byte, changed bool) {
	host, path := splitURL(e.Target)
	if host == nil && IsKnown(e.Host) {
		host = e.Host
	}
	if r.noHost {
		host = nil
	}
	if host == nil && !IsKnown(e.Query) && (r.query.keeps() || bytes.IndexByte(path, '?') < 0) {
		return path, false
	}
	r.key = r.key[:0]
	if host != nil {
		if r.key = appendHost(r.key, host); len(path) == 0 || path[0] != '/' {
			r.key = append(r.key, '/')
		}
	}
	path, query, _ := bytes.Cut(path, []byte("?"))
	if IsKnown(e.Query) {
		query = bytes.TrimPrefix(e.Query, []byte("?"))
	}
	r.key = append(r.key, path...)
	changed = r.appendQuery(query)
	return r.key, changed
}

// splitURL cuts a URL into host and path. Without a scheme it is all path.
func splitURL(target []byte) (host, path []byte) {
	if len(target) == 0 || target[0] == '/' {
		return nil, target
	}
	at := bytes.Index(target, []byte("://"))
	if at < 0 || bytes.IndexByte(target[:at], '?') >= 0 {
		return nil, target
	}
	rest := target[at+len("://"):]
	end := bytes.IndexAny(rest, "/?")
	if end < 0 {
		end = len(rest)
	}
	return rest[:end], rest[end:]
}

// appendHost appends a host in lower case and without the default ports: host names are equal in any case.
func appendHost(to, host []byte) []byte {
	host = bytes.TrimSuffix(bytes.TrimSuffix(host, []byte(":443")), []byte(":80"))
	for _, c := range host {
		if c >= 'A' && c <= 'Z' {
			c |= ' '
		}
		to = append(to, c)
	}
	return to
}

func (r *Rules) hostOf(e *Entry) []byte {
	host, _ := splitURL(e.Target)
	if host == nil {
		host = e.Host
	}
	r.host = appendHost(r.host[:0], host)
	return r.host
}

// addressOf returns the address of a client without its port, which some logs state: 10.0.0.1:2817, [::1]:2817. Of the
// addresses in a header X-Forwarded-For it is the first.
func addressOf(client []byte) []byte {
	client, _, _ = bytes.Cut(client, []byte(","))
	at := bytes.LastIndexByte(client, ':')
	if at > 0 && (client[at-1] == ']' || bytes.IndexByte(client, ':') == at) {
		return client[:at]
	}
	return client
}
