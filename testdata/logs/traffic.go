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

// visit is a request to a web server or a proxy.
type visit struct {
	at           time.Time
	client       string
	method, host string
	path, query  string
	status       int
	bytes        int64 // of the body
	hit          bool  // in the server's own cache
}

// target is the path with its query string.
func (v visit) target() string {
	if v.query == "" {
		return v.path
	}
	return v.path + "?" + v.query
}

// verdict is one of two words for what the server's own cache did.
func (v visit) verdict(hit, miss string) string {
	if v.hit {
		return hit
	}
	return miss
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
			at: at, client: fmt.Sprintf("203.0.113.%d", 1+rng.IntN(200)), method: "GET",
			host: [...]string{"www.example.com", "static.example.com"}[file%2],
			path: fmt.Sprintf("/img/%02d.jpg", file), status: 200, bytes: 512 + int64(file*file*97),
		}
		if file%7 == 3 {
			v.query = "size=large&v=2"
		}
		switch draw := rng.IntN(100); {
		case draw < 2:
			v.method, v.path, v.query, v.status, v.bytes = "POST", "/form", "", 302, 0
		case draw < 3:
			v.method, v.status, v.bytes = "DELETE", 204, 0
		case draw < 5:
			v.status, v.bytes = 404, 153
		case draw < 8:
			v.status, v.bytes = 304, 0
		case draw < 10:
			v.status, v.bytes = 206, 256
		}
		v.hit = seen[v.host+v.path] && v.method == "GET"
		seen[v.host+v.path] = v.method == "GET"
		all[i] = v
	}
	return all
}

// operation is one of a key-value store.
type operation struct {
	at     time.Time
	name   string // "get", "set" or "delete"
	key    string
	value  int64 // bytes
	ttl    int   // seconds, of a set; 0: none
	client int
	hit    bool
}

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
		o := operation{at: at, name: "get", key: fmt.Sprintf("user:%d:profile", n), value: 64 + int64(n)*31,
			client: 1 + rng.IntN(9)}
		o.hit = there[o.key]
		switch {
		case rng.IntN(50) == 0:
			o.name = "delete"
			there[o.key] = false
		case !o.hit:
			all = append(all, o)
			o.name, o.ttl, o.at = "set", 3600, at.Add(200*time.Microsecond)
			there[o.key] = true
		}
		all = append(all, o)
	}
	return all[:lines]
}

// access is one of a block device.
type access struct {
	at     time.Time
	write  bool
	sector int64 // of 512 bytes
	bytes  int64
	volume int
}

// accesses read popular pages, some of them in runs, and write a third.
func accesses() []access {
	rng := rand.New(rand.NewPCG(28, 3))
	zipf := rand.NewZipf(rng, 1.1, 5, 4999)
	all := make([]access, lines)
	at := begin
	for i := range all {
		at = at.Add(time.Duration(rng.ExpFloat64() * float64(5*time.Millisecond))).Truncate(time.Microsecond)
		all[i] = access{at: at, write: rng.IntN(3) == 0, sector: 8 * int64(zipf.Uint64()), bytes: 4096 << rng.IntN(3),
			volume: 1 + rng.IntN(3)}
	}
	return all
}

// op returns one of two words for what an access does.
func (a access) op(read, write string) string {
	if a.write {
		return write
	}
	return read
}

// since is the time since the begin in a unit, with digits behind the point.
func since(at time.Time, unit time.Duration, digits int) string {
	return fmt.Sprintf("%.*f", digits, float64(at.Sub(begin))/float64(unit))
}
