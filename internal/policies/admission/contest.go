package admission

import (
	"math/rand/v2"

	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

// JitterParam is the parameter of those that admit losers now and then.
var JitterParam = policies.Param{Name: "jitter", Default: 1.0 / 128, Min: 0, Max: 1, Doc: "probability with which an " +
	"object that loses is admitted nevertheless, if it is warm; 0: never"}

// jitterBits is the purpose of the random bits of jitter.
const jitterBits = 0x71f1

// contest decides between objects by how often they were requested recently.
type contest struct {
	sketch dense.Sketch
	draws  *rand.PCG
	jitter float64
	warm   int
}

func newContest(c policies.Config, warm int) contest {
	return contest{draws: random.Stream(c.Seed, jitterBits), jitter: c.Params.Float("jitter"), warm: warm}
}

// wins reports whether a candidate with that many requests replaces a victim: if it has more. Sometimes a warm one that
// has not is admitted at random. When all counts are full they are never halved, and objects that are no longer
// requested would win every tie.
func (c *contest) wins(candidate, victim int) bool {
	if candidate > victim {
		return true
	}
	return candidate >= c.warm && c.jitter > 0 && random.Unit(c.draws) < c.jitter
}
