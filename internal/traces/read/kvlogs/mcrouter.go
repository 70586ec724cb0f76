package kvlogs

import (
	"bytes"
	"fmt"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// mcrouterFormat has the lines of mcrouter/routes/LoggingRoute.h, with the prefix of glog.
var mcrouterFormat = source.Format{
	Name: "mcrouter",
	Options: []params.Param{source.OpsOption(), sizeOption(memcachedOverhead), {
		Name: "tenant", Default: "", Choices: []string{"", "ip"},
		Doc: "ip: the address of the user as the tenant, for dividing a cache among tenants; by default none",
	}},
	Writes: stream.WritesFill,
	Detect: source.CertainIf(func(head source.Head) bool {
		var r mcrouterReader
		return source.MostLines(head.Lines, func(line []byte) error { return r.parse(line, &stream.Record{}) })
	}),
	Open: openMcrouter,
}

// mcrouterReader parses lines.
type mcrouterReader struct {
	ops      source.OpFilter
	tenants  bool
	withKeys bool // keys count as bytes
}

func openMcrouter(src *source.Source, opts params.Values) (stream.Reader, stream.Fields, error) {
	r := &mcrouterReader{ops: source.NewOpFilter(opts.Text("ops")), tenants: opts.Text("tenant") != ""}
	if err := checkTenant(src, opts, "ip"); err != nil {
		return nil, stream.Fields{}, err
	}
	r.withKeys = stateSize(src, opts, "values by responseLength", memcachedOverhead)
	src.Reading.Time = "time of day"
	src.Reading.Op, src.Reading.Served = "op by the response", "served response"
	src.Reading.Why = why("other lines, and requests that failed", opts)
	if r.tenants {
		src.Reading.Tenant = "tenant ip"
	}
	parse := func(line []byte, rec *stream.Record) error {
		if err := r.parse(line, rec); err != nil {
			return err
		}
		if !r.ops.Has(rec.Op) {
			return source.ErrLeftOut
		}
		return nil
	}
	return source.ReadLines(src, parse), stream.Fields{Time: true, Size: true, Op: true, Served: true,
		Tenant: r.tenants, SizeMayLack: true}, nil
}

// What is between the parts of a line.
var (
	beforeKey    = []byte("] request key: ")
	beforeResult = []byte(" response: ")
	beforeLength = []byte(" responseLength: ")
	beforeUser   = []byte(" user ip: ")
)

// parse implements source.LineParser, whatever the operation.
func (r *mcrouterReader) parse(line []byte, rec *stream.Record) (err error) {
	prefix, rest, ok := bytes.Cut(line, beforeKey)
	if !ok {
		if isGlog(line) {
			return source.ErrLeftOut
		}
		return fmt.Errorf("%.60q: want a line of glog, as in I0316 14:02:11.123456 4711 FILE:LINE] and a text", line)
	}
	key, rest, hasResult := bytes.Cut(rest, beforeResult)
	result, rest, hasLength := bytes.Cut(rest, beforeLength)
	length, user, hasUser := bytes.Cut(rest, beforeUser)
	if !hasResult || !hasLength || !hasUser || len(key) == 0 {
		return fmt.Errorf("want request key: KEY response: RESULT responseLength: NUMBER user ip: ADDRESS")
	}
	*rec = stream.Record{}
	if rec.Time, err = glogTime(prefix); err != nil {
		return err
	}
	if rec.Size, err = source.ParseSize(length); err != nil {
		return err
	}
	if !setResult(rec, bytes.TrimPrefix(result, []byte("mc_res_"))) {
		return source.ErrLeftOut
	}
	// The length is of what the servers answered, which is the value if they found it.
	rec.SizeUnknown = rec.Size == 0 && rec.Served != stream.ServedHit
	if r.withKeys {
		rec.KeySize = int64(len(key))
	}
	if r.tenants {
		rec.Tenant = user
	}
	rec.SetKey(key)
	return nil
}

// setResult says what a result tells of the request, which the line does not name, and whether it is a request that the
// servers answered. A delete that finds nothing looks like a get that misses.
func setResult(rec *stream.Record, result []byte) bool {
	switch string(result) {
	case "found", "foundstale":
		rec.Op, rec.Served = stream.OpRead, stream.ServedHit
	case "notfound", "notfoundhot":
		rec.Op, rec.Served = stream.OpRead, stream.ServedMiss
	case "stored", "stalestored", "touched":
		rec.Op = stream.OpWrite
	case "deleted":
		rec.Op = stream.OpDelete
	default:
		return false
	}
	return true
}

// isGlog reports whether a line begins like one of glog: a letter for the severity, and a date.
func isGlog(line []byte) bool {
	return len(line) > 5 && bytes.IndexByte([]byte("IWEF"), line[0]) >= 0 && source.IsDigits(line[1:5])
}

// glogTime reads the date and time of glog, I0316 14:02:11.123456 or I20260316 14:02:11.123456. Without a year it is in
// 1970; the zone is not stated, and read as UTC.
func glogTime(prefix []byte) (int64, error) {
	for _, pattern := range []string{"MMDD hh:mm:ss.ffffff", "YYYYMMDD hh:mm:ss.ffffff"} {
		end := len("I") + len(pattern)
		if !isGlog(prefix) || len(prefix) < end || len(prefix) > end && prefix[end] != ' ' {
			continue
		}
		text := prefix[1:end]
		if bytes.HasPrefix(text, []byte("0229 ")) { // which 1970 does not have
			text = append([]byte("0301"), text[4:]...)
		}
		if ns, ok := source.ParseDateAs(pattern, text); ok {
			return ns, nil
		}
	}
	return 0, fmt.Errorf("time %.30q: want one of glog, as in I0316 14:02:11.123456", prefix)
}
