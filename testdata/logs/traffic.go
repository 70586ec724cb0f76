// Package logs writes a small log of each kind that servers, caches and devices write, after their documentation. The
// tests read each of them as a user would, without naming its format; `go run ./testdata/logs/make DIR` writes them.
package logs

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// lines is how many requests a log has.
const lines = 600

var begin = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// event is what all logs have.
type event struct{ At time.Time }

// As is the time in a layout of Go.
func (e event) As(layout string) string { return e.At.Format(layout) }

// Unix is the time in seconds since 1970, with digits behind the point.
func (e event) Unix(digits int) string {
	return fmt.Sprintf("%d.%s", e.At.Unix(), fmt.Sprintf("%09d", e.At.Nanosecond())[:digits])
}

// Micros are the microseconds of the second, without leading zeros.
func (e event) Micros() int { return e.At.Nanosecond() / 1000 }

// Since is the time since the begin in a unit of nanoseconds, with digits behind the point.
func (e event) Since(unit float64, digits int) string {
	return fmt.Sprintf("%.*f", digits, float64(e.At.Sub(begin))/unit)
}

// Second is the second since the begin.
func (e event) Second() int { return int(e.At.Sub(begin).Seconds()) }

// visit is a request to a web server or a proxy.
type visit struct {
	event
	Client       string
	Method, Host string
	Path, Query  string
	Status       int
	Bytes        int64 // of the body
	Hit          bool  // in the server's own cache
}

// Target is the path with its query string.
func (v visit) Target() string {
	if v.Query == "" {
		return v.Path
	}
	return v.Path + "?" + v.Query
}

// Verdict is one of two words for what the server's own cache did.
func (v visit) Verdict(hit, miss string) string {
	if v.Hit {
		return hit
	}
	return miss
}

// EdgeResult is CloudFront's word for what it did.
func (v visit) EdgeResult() string {
	if v.Status >= 400 {
		return "Error"
	}
	return v.Verdict("Hit", "Miss")
}

// visits are mostly reads of popular files, with some forms sent, files deleted, and requests that fail.
func visits() []visit {
	rng := rand.New(rand.NewPCG(28, 1))
	zipf := rand.NewZipf(rng, 1.2, 3, 79)
	seen := map[string]bool{}
	all := make([]visit, lines)
	at := begin
	for i := range all {
		at = at.Add(time.Duration(rng.ExpFloat64() * float64(3*time.Second))).Truncate(time.Millisecond)
		file := zipf.Uint64()
		v := visit{
			event: event{at}, Client: fmt.Sprintf("203.0.113.%d", 1+rng.IntN(200)), Method: "GET",
			Host: [...]string{"www.example.com", "static.example.com"}[file%2],
			Path: fmt.Sprintf("/img/%02d.jpg", file), Status: 200, Bytes: 512 + int64(file*file*97),
		}
		if file%7 == 3 {
			v.Query = "size=large&v=2"
		}
		switch draw := rng.IntN(100); {
		case draw < 2:
			v.Method, v.Path, v.Query, v.Status, v.Bytes = "POST", "/form", "", 302, 0
		case draw < 3:
			v.Method, v.Status, v.Bytes = "DELETE", 204, 0
		case draw < 5:
			v.Status, v.Bytes = 404, 153
		case draw < 8:
			v.Status, v.Bytes = 304, 0
		case draw < 10:
			v.Status, v.Bytes = 206, 256
		}
		v.Hit = seen[v.Host+v.Path] && v.Method == "GET"
		seen[v.Host+v.Path] = v.Method == "GET"
		all[i] = v
	}
	return all
}

// operation is one of a key-value store.
type operation struct {
	event
	Name   string // "get", "set" or "delete"
	Key    string
	Value  int64 // bytes
	TTL    int   // seconds, of a set; 0: none
	Client int
	Hit    bool
}

// Found is 1 for a hit.
func (o operation) Found() int {
	if o.Hit {
		return 1
	}
	return 0
}

// Hash is a name of an object as a hash.
func (o operation) Hash() string { return fmt.Sprintf("%016x", uint64(o.Value)*0x9e3779b97f4a7c15) }

func (o operation) KeySize() int64 { return int64(len(o.Key)) }

// Video is the number of the object.
func (o operation) Video() int64 { return o.Value / 31 }

// operations read popular keys, set those that are not there, and delete some.
func operations() []operation {
	rng := rand.New(rand.NewPCG(28, 2))
	zipf := rand.NewZipf(rng, 1.2, 3, 99)
	there := map[string]bool{}
	var all []operation
	at := begin
	for len(all) < lines {
		at = at.Add(time.Duration(rng.ExpFloat64() * float64(time.Second))).Truncate(time.Microsecond)
		n := zipf.Uint64()
		o := operation{event: event{at}, Name: "get", Key: fmt.Sprintf("user:%d:profile", n), Value: 64 + int64(n)*31,
			Client: 1 + rng.IntN(9)}
		o.Hit = there[o.Key]
		switch {
		case rng.IntN(50) == 0:
			o.Name = "delete"
			there[o.Key] = false
		case !o.Hit:
			all = append(all, o)
			o.Name, o.TTL, o.At = "set", 3600, at.Add(200*time.Microsecond)
			there[o.Key] = true
		}
		all = append(all, o)
	}
	return all[:lines]
}

// access is one of a block device.
type access struct {
	event
	write  bool
	Sector int64 // of 512 bytes
	Bytes  int64
	Volume int64
}

// Op is one of two words for what an access does.
func (a access) Op(read, write string) string {
	if a.write {
		return write
	}
	return read
}

func (a access) Sectors() int64 { return a.Bytes / 512 }
func (a access) Offset() int64  { return a.Sector * 512 }

// FileTime is the time as Windows has it.
func (a access) FileTime() int64 { return a.At.UnixNano()/100 + 116444736000000000 }

// accesses read popular pages, some of them in runs, and write a third.
func accesses() []access {
	rng := rand.New(rand.NewPCG(28, 3))
	zipf := rand.NewZipf(rng, 1.1, 5, 4999)
	all := make([]access, lines)
	at := begin
	for i := range all {
		at = at.Add(time.Duration(rng.ExpFloat64() * float64(5*time.Millisecond))).Truncate(time.Microsecond)
		all[i] = access{event: event{at}, write: rng.IntN(3) == 0, Sector: 8 * int64(zipf.Uint64()),
			Bytes: 4096 << rng.IntN(3), Volume: 1 + rng.Int64N(3)}
	}
	return all
}
