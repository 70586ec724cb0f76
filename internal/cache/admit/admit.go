// Package admit decides which missed objects a cache loads, and which objects that come down from memory are written to
// a tier of storage, such as flash. A load evicts another object, a write wears the device; both are in vain if the
// object is not requested again.
package admit

import (
	"cmp"
	"fmt"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/traces/requests"
)

// Admission decides what is loaded into a cache, or written to one tier.
type Admission interface {
	// Request is notified of each request of the trace, the at-th from 0, before it is served, by whichever tier.
	Request(r requests.Request, at int)
	// Admit reports whether an object that missed, or comes down, is admitted.
	Admit(r requests.Request) bool
}

// Entry describes an admission for the registry. It implements params.Named, params.Described and params.Checker.
type Entry struct {
	Name    string
	Summary string // one line: what it admits
	Source  string // the paper or page that defines it
	Idle    bool   // admits everything, so that a replay with it is the same as without
	Sizes   bool   // decides by sizes, so that capacities must count bytes
	Random  bool   // makes random choices, so that results depend on the seed
	// Contests says that it is a Contest: it needs a cache whose victims it can compare with.
	Contests bool
	// PerObject is its memory per object of the trace, in bytes.
	PerObject int64
	Params    []params.Param
	Check     func(params.Values) error
	New       func(Config) (Admission, error)
}

func (e Entry) Signature() (string, []params.Param) { return e.Name, e.Params }

func (e Entry) Describe() params.Description {
	return params.Description{Summary: e.Summary, Source: e.Source}.With(e.Sizes, "needs capacities in bytes").
		With(e.Random, "random").
		With(e.Contests, "only before the caches exact and semantic")
}

func (e Entry) CheckValues(v params.Values) error { return params.Check(e.Check, v) }

// Config is what an admission is built from.
type Config struct {
	Objects  int   // distinct objects of the trace
	Capacity int64 // of the cache or the tier
	Sized    bool  // the capacity and the sizes of requests are in bytes; otherwise each request is 1
	Seed     uint64
	Params   params.Values
}

// Spec is an admission with its parameters: what a user writes as `second(n=3)`.
type Spec = params.Spec[Entry]

// Registry has every admission, in the order of `cachesim admissions`.
var Registry = params.NewRegistry("admission", "none,second", noneEntry, secondEntry, bloomEntry,
	tinyLFUEntry, probabilityEntry, sizeEntry, sizeProbabilityEntry, adaptSizeEntry, learnedEntry)

func New(s Spec, c Config) (Admission, error) {
	c.Params = s.Params
	return s.Entry.New(c)
}

// needBytes returns an error where an admission that decides by sizes has capacities that count objects.
func (c Config) needBytes(admission string) error {
	if c.Sized {
		return nil
	}
	return fmt.Errorf("admission %s: capacities count objects, not bytes; add --bytes, or use another admission: none, "+
		"second, bloom, probability, learned", admission)
}

var noneEntry = Entry{
	Name:    "none",
	Summary: "admits everything",
	Source:  "cachesim",
	Idle:    true,
	New:     func(Config) (Admission, error) { return all{}, nil },
}

type all struct{}

func (all) Request(requests.Request, int) {}
func (all) Admit(requests.Request) bool   { return true }

var secondEntry = Entry{
	Name:    "second",
	Summary: "admits objects that have been requested at least twice",
	Source: "Berg et al., The CacheLib caching engine, OSDI 2020, section 4.2 (reject first); Maggs, Sitaraman, " +
		"Algorithmic nuggets in content delivery, SIGCOMM CCR 2015 (cache on second hit)",
	PerObject: 5,
	Params: []params.Param{
		{Name: "n", Default: 2, Min: 1, Max: mostCounted, Doc: "requests from which an object is admitted"},
		{Name: "within", Default: 0, Min: 0, Max: 1 << 31, Doc: "an object is counted anew if it was not requested within " +
			"this many requests; 0: its requests count forever"},
	},
	New: func(c Config) (Admission, error) {
		return &second{n: c.Params.Int("n"), within: c.Params.Int("within"), counted: newCounted(c.Objects)}, nil
	},
}

// mostCounted is the largest number of requests that is counted.
const mostCounted = 255

// counted are the requests of each object. Memory: 5 bytes per object.
type counted struct {
	times []uint8
	last  []uint32 // the number of the last request
}

func newCounted(objects int) counted { return counted{make([]uint8, objects), make([]uint32, objects)} }

func (c counted) request(o requests.Object, at int) {
	if c.times[o] < mostCounted {
		c.times[o]++
	}
	c.last[o] = uint32(at)
}

type second struct {
	n, within int
	counted
}

func (s *second) Request(r requests.Request, at int) {
	if s.within > 0 && s.times[r.Object] > 0 && at-int(s.last[r.Object]) > s.within {
		s.times[r.Object] = 0
	}
	s.request(r.Object, at)
}

func (s *second) Admit(r requests.Request) bool { return int(s.times[r.Object]) >= s.n }

var sizeEntry = Entry{
	Name:    "size",
	Summary: "admits objects within limits of size",
	Source:  "Abrams et al., Caching proxies: limitations and potentials, WWW 1995 (LRU-Threshold)",
	Sizes:   true,
	Params: []params.Param{
		{Name: "most", Default: "1MiB", Doc: "the largest object that is admitted"},
		{Name: "least", Default: "1B", Doc: "the smallest object that is admitted"},
	},
	Check: func(v params.Values) error {
		least, most, err := limits(v)
		if err == nil && least > most {
			err = fmt.Errorf("least=%s is above most=%s, so that nothing is admitted", v.Text("least"), v.Text("most"))
		}
		return err
	},
	New: func(c Config) (Admission, error) {
		least, most, err := limits(c.Params)
		return size{least, most}, cmp.Or(c.needBytes("size"), err)
	},
}

// limits returns the smallest and the largest size in bytes.
func limits(v params.Values) (least, most int64, err error) {
	if least, err = bytesOf(v, "least"); err == nil {
		most, err = bytesOf(v, "most")
	}
	return least, most, err
}

type size struct{ least, most int64 }

func (size) Request(requests.Request, int) {}

func (s size) Admit(r requests.Request) bool { return s.least <= r.Size && r.Size <= s.most }
