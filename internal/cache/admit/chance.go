package admit

import (
	"fmt"
	"math/rand/v2"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/traces/requests"
)

// admissionBits is the purpose of the random bits of an admission.
const admissionBits = 0xad317

var probabilityEntry = Entry{
	Name:    "probability",
	Summary: "admits each missed object with the same probability",
	Source: "Martina, Garetto and Leonardi, A unified approach to the performance analysis of caching systems, INFOCOM " +
		"2014 (q-LRU)",
	Random: true,
	Params: []params.Param{{Name: "p", Default: 0.5, Min: 0, Max: 1, Doc: "probability of an object to be admitted"}},
	New: func(c Config) (Admission, error) {
		return &probability{p: c.Params.Float("p"), draws: random.Stream(c.Seed, admissionBits)}, nil
	},
}

type probability struct {
	p     float64
	draws *rand.PCG
}

func (*probability) Request(requests.Request, int) {}

func (p *probability) Admit(requests.Request) bool { return random.Unit(p.draws) < p.p }

var sizeProbabilityEntry = Entry{
	Name:    "size-probability",
	Summary: "admits an object of s bytes with probability exp(-s/c)",
	Source:  "Berger, Sitaraman and Harchol-Balter, AdaptSize, NSDI 2017 (Exp-LRU), with a fixed c",
	Sizes:   true,
	Random:  true,
	Params:  []params.Param{{Name: "c", Default: "1MB", Doc: "the size of which 37% (1/e) of the objects are admitted"}},
	Check: func(v params.Values) error {
		_, err := bytesOf(v, "c")
		return err
	},
	New: func(c Config) (Admission, error) {
		scale, err := bytesOf(c.Params, "c")
		if err != nil {
			return nil, err
		}
		return &sizeProbability{newBySize(c.Seed, float64(scale))}, c.needBytes("size-probability")
	},
}

// bytesOf returns a parameter in bytes.
func bytesOf(v params.Values, name string) (int64, error) {
	n, err := capacity.ParseBytes(v.Text(name))
	if err != nil {
		return 0, fmt.Errorf("%s=%w", name, err)
	}
	return n, nil
}

type sizeProbability struct{ bySize }

func (*sizeProbability) Request(requests.Request, int) {}

func (s *sizeProbability) Admit(r requests.Request) bool { return s.admits(r.Size) }

// bySize admits small objects more often than large ones.
type bySize struct {
	draws *rand.PCG
	c     float64 // bytes
}

func newBySize(seed uint64, c float64) bySize { return bySize{random.Stream(seed, admissionBits), c} }

// admits draws whether an object of size bytes is admitted.
func (b *bySize) admits(size int64) bool { return random.Unit(b.draws) < admitted(float64(size), b.c) }

// admitted returns the probability with which an object of size bytes is admitted.
func admitted(size, c float64) float64 {
	if size > 600*c { // e^-600 is nothing that is ever drawn
		return 0
	}
	return random.Exp(-size / c)
}
