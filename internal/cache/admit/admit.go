// Package admit decides which missed objects a cache loads, and which objects that come down from memory are written to
// a tier of storage, such as flash. A load evicts another object, a write wears the device; both are in vain if the
// object is not requested again.
package admit

import (
	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/traces/requests"
)

// Admission decides what is loaded into a cache, or written to one tier.
type Admission interface {
	// Request is notified of each request of the trace before it is served, whichever tier serves it. at counts requests
	// from 0.
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
	// PerObject is its memory per object of the trace, in bytes.
	PerObject int64
	Params    []params.Param
	Check     func(params.Values) error
	New       func(Config) (Admission, error)
}

// Signature implements params.Named.
func (e Entry) Signature() (string, []params.Param) { return e.Name, e.Params }

// Describe implements params.Described.
func (e Entry) Describe() params.Description {
	d := params.Description{Summary: e.Summary, Source: e.Source}
	if e.Sizes {
		d.Traits = append(d.Traits, "needs capacities in bytes")
	}
	return d
}

// CheckValues implements params.Checker.
func (e Entry) CheckValues(v params.Values) error {
	if e.Check == nil {
		return nil
	}
	return e.Check(v)
}

// Config is what an admission is built from.
type Config struct {
	Objects  int   // distinct objects of the trace
	Capacity int64 // of the cache or the tier
	Sized    bool  // the capacity and the sizes of requests are in bytes; otherwise each request is 1
	Params   params.Values
}

// Spec is an admission with its parameters: what a user writes as `second(n=3)`.
type Spec = params.Spec[Entry]

// Registry has every admission, in the order of `cachesim admissions`.
var Registry = params.NewRegistry("admission", "none,second", noneEntry, secondEntry, sizeEntry, learnedEntry)

// New returns the admission of a spec.
func New(s Spec, c Config) (Admission, error) {
	c.Params = s.Params
	return s.Entry.New(c)
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
