package weblogs

import (
	"bytes"
	"fmt"

	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// field is what a part of a line says.
type field uint8

const (
	ignored      field = iota
	requestLine        // GET /a?b HTTP/1.1
	method             // GET
	target             // /a?b, or a whole URL
	path               // /a
	query              // b, or ?b
	host               // example.com
	serverName         // likewise, but what the configuration calls it
	client             // 10.0.0.1
	status             // 200
	resultStatus       // TCP_HIT/200
	bodyBytes          // of the body of the response
	allBytes           // of the response with its header
	objectBytes
	stamp          // 10/Oct/2000:13:55:36 -0700 or as in RFC 3339
	seconds        // since 1970, with or without a fraction
	milliseconds   // likewise
	microseconds   // likewise
	date           // 2000-10-10
	timeOfTheDay   // 13:55:36
	fraction       // of a second, in digits: of the time that another field has in seconds
	formattedTime  // as strftime writes it
	formattedDate  // likewise
	formattedClock // likewise
	formattedZone  // likewise
	served         // HIT
	cacheControl   // max-age=60
	s3Status       // 200
	s3Operation    // REST.GET.OBJECT
)

// role is what an entry gets from a field. Of several fields with the same role the best is read.
type role uint8

const (
	noRole role = iota
	targetRole
	queryRole
	methodRole
	hostRole
	clientRole
	statusRole
	sizeRole
	objectSizeRole
	timeRole
	dateRole      // part of a time
	timeOfDayRole // likewise
	fractionRole  // likewise
	zoneRole      // likewise
	servedRole
	ttlRole
)

// roles has the role of each field, and how good it is at that: a higher rank is read before a lower one.
var roles = [...]struct {
	role role
	rank int
}{
	ignored: {noRole, 0},

	requestLine: {targetRole, 3}, target: {targetRole, 2}, path: {targetRole, 1}, query: {queryRole, 1},
	method: {methodRole, 1}, s3Operation: {methodRole, 1},
	host: {hostRole, 2}, serverName: {hostRole, 1}, client: {clientRole, 1},

	status: {statusRole, 1}, resultStatus: {statusRole, 1}, s3Status: {statusRole, 1},
	bodyBytes: {sizeRole, 2}, allBytes: {sizeRole, 1}, objectBytes: {objectSizeRole, 1},
	served: {servedRole, 1}, cacheControl: {ttlRole, 1},

	microseconds: {timeRole, 5}, milliseconds: {timeRole, 4}, seconds: {timeRole, 3}, stamp: {timeRole, 2},
	formattedTime: {timeRole, 1},
	date:          {dateRole, 1}, formattedDate: {dateRole, 1}, formattedZone: {zoneRole, 1},
	timeOfTheDay: {timeOfDayRole, 1}, formattedClock: {timeOfDayRole, 1}, fraction: {fractionRole, 1},
}

// set puts what a field says into the entry.
func (p *parser) set(s *step, text []byte) (err error) {
	e := &p.entry
	switch s.field {
	case requestLine:
		e.Method, e.Target = CutRequest(text)
		e.Target = p.unescape(e.Target)
	case method:
		e.Method = text
	case s3Operation:
		e.Method, err = s3Method(text)
	case target, path:
		e.Target = p.unescape(text)
	case query:
		e.Query = p.unescape(text)
	case host, serverName:
		e.Host = text
	case client:
		e.Client = text
	case status:
		e.Status, err = ParseStatus(text)
	case s3Status:
		if IsKnown(text) { // S3 itself makes requests without one
			e.Status, err = ParseStatus(text)
		}
	case resultStatus:
		result, code, ok := bytes.Cut(text, []byte("/"))
		if !ok {
			return fmt.Errorf("%.40q: want a result and a status, such as TCP_HIT/200", text)
		}
		e.Served = p.servedBy(result)
		e.Status, err = ParseStatus(code)
	case bodyBytes, allBytes:
		e.Bytes, err = parseBytes(text)
	case objectBytes:
		if IsKnown(text) {
			e.ObjectSize, err = parseBytes(text)
		}
	case served:
		e.Served = p.servedBy(text)
	case cacheControl:
		e.SetCacheControl(text)
	default:
		return p.setTime(s, text)
	}
	return err
}

// setTime is set for a field that has the time, or a part of it.
func (p *parser) setTime(s *step, text []byte) (err error) {
	var ns int64
	switch s.field {
	case stamp:
		ns, err = p.clock.read(text)
	case seconds:
		ns, err = source.ParseTime(text, 1e9)
	case milliseconds:
		ns, err = source.ParseTime(text, 1e6)
	case microseconds:
		ns, err = source.ParseTime(text, 1e3)
	case fraction:
		ns, err = parseFraction(text)
	case date:
		p.moment.date = text
	case timeOfTheDay:
		p.moment.timeOfDay = text
	default:
		_, err = s.time.read(text, &p.moment)
	}
	p.entry.Time += ns
	return err
}

// unescape undoes what nginx (\x22, \x5C), Apache and Varnish (\", \\, \xc3) write instead of quotes, backslashes and
// bytes above ASCII. Control characters stay as they are written.
func (p *parser) unescape(text []byte) []byte {
	if bytes.IndexByte(text, '\\') < 0 {
		return text
	}
	start := len(p.unescaped)
	for len(text) > 0 {
		n, c := 1, text[0]
		if c == '\\' && len(text) > 1 {
			switch next := text[1]; {
			case next == '"' || next == '\\':
				n, c = 2, next
			case next == 'x' && len(text) > 3 && source.FromHex(text[2], text[3]) >= ' ':
				n, c = 4, byte(source.FromHex(text[2], text[3]))
			}
		}
		p.unescaped, text = append(p.unescaped, c), text[n:]
	}
	return p.unescaped[start:]
}

// CutRequest cuts the first line of a request into method and target. What is no such line has no target: Varnish
// writes one with the method -.
func CutRequest(text []byte) (method, target []byte) {
	at := bytes.IndexByte(text, ' ')
	if at <= 0 || at == 1 && text[0] == '-' {
		return text, nil
	}
	method, target = text[:at], text[at+1:]
	if end := bytes.LastIndexByte(target, ' '); end >= 0 && bytes.HasPrefix(target[end+1:], []byte("HTTP/")) {
		target = target[:end]
	}
	return method, target
}

// noStatus stands for a request that got no response: servers write 000, 0, -1 or "-".
const noStatus = -1

// ParseStatus reads a status of three digits, as Entry has it.
func ParseStatus(text []byte) (int, error) {
	switch {
	case len(text) == 3:
		if n := digits(text); n >= firstStatus {
			return n, nil
		} else if n >= 0 {
			return noStatus, nil
		}
	case !IsKnown(text), string(text) == "0", string(text) == "-1":
		return noStatus, nil
	}
	return 0, fmt.Errorf("status %.40q: want a number of three digits", text)
}

// parseBytes reads a number of bytes. "-" is none, as in the common log format. HAProxy writes a + before what it had
// sent when it wrote the line.
func parseBytes(text []byte) (int64, error) {
	if !IsKnown(text) {
		return 0, nil
	}
	n, ok := stream.ParseNumber(text)
	if !ok {
		n, ok = source.ParseDigits(bytes.TrimPrefix(text, []byte("+")))
	}
	if !ok || n > source.MaxSize {
		return 0, fmt.Errorf("size %.40q: want a whole number of bytes up to 2^50, or -", text)
	}
	return int64(n), nil
}

// parseFraction reads the milliseconds or microseconds of a second: three or six digits.
func parseFraction(text []byte) (int64, error) {
	n := digits(text)
	switch {
	case n >= 0 && len(text) == 3:
		return int64(n) * 1e6, nil
	case n >= 0 && len(text) == 6:
		return int64(n) * 1e3, nil
	}
	return 0, fmt.Errorf("fraction of a second %.40q: want three or six digits", text)
}

// Methods of operations of Amazon S3 that are no requests of HTTP.
var (
	s3Delete = []byte("DELETE")
	s3Post   = []byte("POST")
	s3Other  = []byte("OTHER")
)

// s3Method returns the method of an operation on an object in Amazon S3, such as REST.GET.OBJECT.
func s3Method(operation []byte) ([]byte, error) {
	switch string(operation) {
	case "S3.EXPIRE.OBJECT": // by a rule of the bucket
		return s3Delete, nil
	case "REST.POST.UPLOAD": // completes an upload in parts
		return s3Post, nil
	}
	_, rest, ok := bytes.Cut(operation, []byte("."))
	if !ok { // Traffic Server writes as many columns
		return nil, fmt.Errorf("operation %.40q: want one of S3, such as REST.GET.OBJECT", operation)
	}
	if name, ok := bytes.CutSuffix(rest, []byte(".OBJECT")); ok {
		return name, nil
	}
	return s3Other, nil
}

// servedBy is source.ParseServed, and remembers the last text.
func (p *parser) servedBy(text []byte) stream.Served {
	const longest = 64 // no word of a server is longer
	if len(text) > longest {
		return source.ParseServed(text)
	}
	if !bytes.Equal(text, p.lastServed) {
		p.lastServed, p.lastFound = append(p.lastServed[:0], text...), source.ParseServed(text)
	}
	return p.lastFound
}

// digits returns the number that a few digits are, -1 for other text.
func digits(text []byte) int {
	n, ok := source.ParseDigits(text)
	if !ok || len(text) > 9 {
		return -1
	}
	return int(n)
}
