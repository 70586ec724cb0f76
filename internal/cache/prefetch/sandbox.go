package prefetch

import (
	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/random"
)

var sandboxEntry = Entry{
	Name: "sandbox",
	Summary: "each of the next addresses, and the next at the stride of its zone, while enough of such proposals would " +
		"have been requested: tried without loading",
	Source: "Pugsley et al., Sandbox Prefetching: Safe Run-Time Evaluation of Aggressive Prefetchers, HPCA 2014; exact " +
		"tables instead of Bloom filters, all candidates at once, and strides besides",
	Memory:    "about 200 KB, and 48 bytes for each of the zones of stride",
	Addresses: true,
	Params: []params.Param{
		{Name: "n", Default: 4, Min: 1, Max: 16, Doc: "largest distance ahead; strides are followed as many steps"},
		{Name: "accuracy", Default: accuracy, Min: 0.01, Max: 1, Doc: "least share of the tried proposals of a candidate " +
			"that are requested, and were not resident otherwise"},
		{Name: "table", Default: 8192, Min: 64, Max: 1 << 24, Doc: "proposals that are tried at a time; one that is pushed " +
			"out was in vain"},
	},
	New: func(c Config) Prefetcher {
		return newSandbox(c.Params.Int("n"), c.Params.Int("table"), c.Params.Float("accuracy"))
	},
}

// accuracy is the least share of a candidate's trials by default, and accuracyInTime where a transfer delays others.
const accuracy, accuracyInTime = 0.2, 0.8

// sandbox tries candidates. It writes their proposals to a table. A request for one counts in the candidate's favour if
// it misses, or hits only because of the present proposals. None leads: several propose at a time, and to start or stop
// one leaves the cache as it is, so that there is no change to pay for as in a shadow.Race.
type sandbox struct {
	n          int
	accuracy   float64
	stride     *stride
	tried      []trial
	candidates []candidate // the addresses ahead, and then the steps of a stride
	proposals  []Proposal
	events     int // since counts were halved
}

// trial is an address that some candidates would have loaded: a bit for each.
type trial struct {
	key  uint64
	bits uint32
}

// candidate is how a way to propose did in its trials: how many were useful, and how many in vain.
type candidate struct{ useful, vain float64 }

// halveAfter is how many trials end until older ones count half, and fewestTrials how many must have ended to judge.
const halveAfter, fewestTrials = 1024, 8

func newSandbox(n, table int, accuracy float64) *sandbox {
	values := params.Defaults(strideEntry.Params)
	values["n"] = n
	return &sandbox{n: n, accuracy: accuracy, tried: make([]trial, table),
		candidates: make([]candidate, 2*n), stride: strideEntry.New(Config{Params: values}).(*stride)}
}

func (s *sandbox) Request(a Access, proposals []Proposal) []Proposal {
	s.settle(a)
	for i := range s.n {
		if key, ok := after(a.Key, 1, i+1); ok {
			proposals = s.consider(i, key, proposals)
		}
	}
	s.proposals = s.stride.Request(a, s.proposals[:0])
	for i, p := range s.proposals {
		if p.Key-a.Key != uint64(i+1) { // with a stride of 1 these are the addresses ahead
			proposals = s.consider(s.n+i, p.Key, proposals)
		}
	}
	return proposals
}

func (s *sandbox) settle(a Access) {
	t := s.slot(a.Key)
	if t.bits == 0 || t.key != a.Key {
		return
	}
	if !a.Hit || a.Prefetched {
		s.count(t.bits, true)
	}
	t.bits = 0
}

// consider tries an address for a candidate, and proposes it if the candidate has done well.
func (s *sandbox) consider(of int, key uint64, proposals []Proposal) []Proposal {
	t := s.slot(key)
	if t.key != key || t.bits == 0 {
		if t.bits != 0 {
			s.count(t.bits, false)
		}
		*t = trial{key: key}
	}
	t.bits |= 1 << of
	if c := s.candidates[of]; c.useful+c.vain >= fewestTrials && c.useful >= s.accuracy*(c.useful+c.vain) {
		proposals = append(proposals, Proposal{Key: key})
	}
	return proposals
}

func (s *sandbox) slot(key uint64) *trial { return &s.tried[random.Scramble(key)%uint64(len(s.tried))] }

// count counts a trial that has ended for the candidates of its bits.
func (s *sandbox) count(bits uint32, useful bool) {
	if s.events++; s.events == halveAfter {
		s.events = 0
		for i := range s.candidates {
			s.candidates[i].useful /= 2
			s.candidates[i].vain /= 2
		}
	}
	for i := 0; bits != 0; i, bits = i+1, bits>>1 {
		if bits&1 == 0 {
			continue
		}
		if c := &s.candidates[i]; useful {
			c.useful++
		} else {
			c.vain++
		}
	}
}
