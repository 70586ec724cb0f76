package reuse

import "github.com/cachesim/cachesim/internal/base/params"

var (
	periodicEntry = Entry{
		Name:    "periodic",
		Summary: "every n steps, whatever the queries; heads take turns",
		Source:  "cachesim",
		Params:  []params.Param{{Name: "n", Default: 4, Min: 1, Max: 1 << 30, Doc: "steps for which a set serves"}},
		New: func(c Config) (Rule, error) {
			n := c.Params.Int("n")
			return &periodic{n: n, offset: c.Head.Place % n}, nil
		},
	}
	staticEntry = Entry{
		Name:    "static",
		Summary: "never: the set of the first step serves for all",
		Source:  "cachesim",
		New:     func(Config) (Rule, error) { return always(true), nil },
	}
	exactEntry = Entry{
		Name:    "exact",
		Summary: "in every step: no set is reused",
		Source:  "cachesim",
		New:     func(Config) (Rule, error) { return always(false), nil },
	}
	infinigenEntry = Entry{
		Name:    "infinigen",
		Summary: "in every step, with the set that predicted queries choose",
		Source: "Lee et al., InfiniGen: Efficient Generative Inference of Large Language Models with Dynamic KV Cache " +
			"Management, OSDI 2024",
		Predicted: true,
		New:       func(Config) (Rule, error) { return always(false), nil },
	}
)

// always gives the same answer to every lookup.
type always bool

func (a always) Reuse(*Lookup) bool { return bool(a) }

// periodic replaces the sets of different heads in different steps, so that every step fetches about as many.
type periodic struct{ n, offset int }

func (r *periodic) Reuse(l *Lookup) bool { return (l.Step+r.offset)%r.n != 0 }
