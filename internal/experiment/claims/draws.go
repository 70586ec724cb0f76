package claims

import (
	"math"
	"math/rand/v2"

	"github.com/cachesim/cachesim/internal/metric"
	"github.com/cachesim/cachesim/internal/records"
)

// draws is how many results CannotFail invents.
const draws = 1000

// CannotFail reports whether the claim holds whatever is measured: it does with 1,000 sets of random values in place of
// the measured ones. A value is drawn from the metric's range: a share from 0 to 1, a count from 0 to the number of
// requests, and anything else within a factor of 1,000 of the largest measured value. A claim that cannot be checked
// can fail elsewhere.
func (c *Claim) CannotFail(d *Data) bool {
	random := rand.New(rand.NewPCG(1, draws))
	for range draws {
		if c.verdictOn(d.drawn(random)) != Holds {
			return false
		}
	}
	return true
}

// verdictOn is the verdict without regard to noise.
func (c *Claim) verdictOn(d *Data) Verdict {
	e := c.evaluator(d)
	r := Result{}
	for _, o := range e.collapse(c.says.judge(e)) {
		if o.why == "" {
			r.Points = append(r.Points, Point{Verdict: c.says.decide(o.tests)})
		}
	}
	if e.reason != "" || len(r.Points) == 0 {
		return NotCheckable
	}
	return c.verdict(r)
}

// drawn is the data with random values in place of the measured ones. Settings, such as the capacity, stay.
func (d *Data) drawn(random *rand.Rand) *Data {
	other := *d
	other.columns = map[string][]float64{}
	other.random = random
	return &other
}

// draw returns random values in place of a metric's; those that are missing stay missing.
func (d *Data) draw(name string, measured []float64) []float64 {
	if records.IsSetting(name) {
		return measured
	}
	largest := 0.0
	for _, x := range measured {
		if size := math.Abs(x); size > largest { // false for NaN
			largest = size
		}
	}
	column := make([]float64, len(measured))
	for i := range column {
		column[i] = d.random.Float64() * d.most(name, i, largest)
		if math.IsNaN(measured[i]) {
			column[i] = math.NaN()
		}
	}
	return column
}

// most is the largest value that is drawn for a record.
func (d *Data) most(name string, record int, largest float64) float64 {
	const factor = 1000
	requests, ok := d.in.Records[record].Metric(metric.Requests.Name)
	switch unit := unitOfName(name); {
	case unit == share:
		return 1
	case unit == count && ok && largest <= requests:
		return requests
	case largest == 0:
		return 1
	}
	return largest * math.Pow(factor, 2*d.random.Float64()-1)
}
