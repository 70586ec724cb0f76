package fluid

import (
	"math"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/serving/hlem"
	"github.com/cachesim/cachesim/internal/traces/recommender"
)

// peak is that of an A100, in operations per second.
const peak = 312e12

// candidate is a choice of the constants of which the paper says nothing.
type candidate struct {
	name       string
	efficiency float64 // share of the peak that a GPU reaches
	length     float64 // factor of the lengths
	scale      float64 // of all times
	tables     int     // of the evaluation; figure 1 has its own 25
}

func (c candidate) costs(layers int) hlem.Costs {
	costs := hlem.DefaultCosts()
	costs.Layers, costs.FLOPS, costs.Scale = layers, c.efficiency*peak, c.scale
	return costs
}

func (c candidate) node(layers, minTokens, maxTokens int) *Model {
	p := recommender.DefaultPopulation()
	p.Nodes, p.Tables = 1, c.tables
	p.MinTokens = int(math.Round(c.length * float64(minTokens)))
	p.MaxTokens = int(math.Round(c.length * float64(maxTokens)))
	return NewModel(p, c.costs(layers), 8, 80*gigabyte)
}

// least returns the best ratio at a utilisation, and the P99 there in ms.
func least(m *Model, hot, utilisation float64) (ratio, p99 float64) {
	l := hlem.Load{HotShare: hot, Rate: m.Rate(hot, utilisation, hlem.StartRatio)}
	ratio = m.Best(l, hlem.LeastRatio, hlem.MostRatio, 0.01)
	return ratio, 1e3 * m.Predict(l, ratio).P99
}

// share returns the part of the time of a request without any hit that transfers take, as in figure 1.
func (c candidate) share(tokens float64) float64 {
	costs := c.costs(6)
	transfer := costs.Transfer(25*tokens, 0, costs.PCIe)
	return transfer / (transfer + costs.Compute(tokens, false) + costs.Overhead())
}

// outcomes are what the paper states, by a candidate.
type outcomes struct {
	share15, share20   float64    // figure 1: of transfers at 15,000 and 20,480 tokens
	long, short        float64    // figure 4: the lowest and the highest best ratio
	mean               [3]float64 // best ratio in each regime, of which Table III implies 0.392, 0.441 and 0.431
	floor6, p996, p993 float64    // P99 in ms with 6 layers at a utilisation of 1%, and of the best ratio at 85%
}

func (c candidate) outcomes() (o outcomes) {
	o.share15, o.share20 = c.share(15_000), c.share(20_480)
	o.long, _ = least(c.node(6, 15_000, 15_000), 0.60, 0.85)
	o.short, _ = least(c.node(6, 5_000, 5_000), 0.18, 0.85)
	m := c.node(6, 5_000, 15_000)
	_, o.floor6 = least(m, 0.38, 0.01)
	_, o.p996 = least(m, 0.38, 0.85)
	_, o.p993 = least(c.node(3, 5_000, 15_000), 0.38, 0.85)
	for i, regime := range recommender.Regimes() {
		loads := m.Loads(regime.HotShares(0.38, 60, 0, recommender.BurstExtra), 0.85, hlem.StartRatio)
		for _, l := range loads {
			o.mean[i] += m.Best(l, hlem.LeastRatio, hlem.MostRatio, 0.01) / float64(len(loads))
		}
	}
	return o
}

// TestCalibration prints the table of docs/models.md, and holds what the constants were chosen for: figures 1 and 4,
// and the level of the best fixed ratio.
func TestCalibration(t *testing.T) {
	brief.Long(t, "simulates many queues")
	chosen := candidate{"chosen", 0.35, 1, 0.8, 10}
	all := []candidate{chosen}
	if testing.Verbose() {
		for _, efficiency := range []float64{0.28, 0.318, 0.40, 0.45, 0.56, 0.70} {
			all = append(all, candidate{"efficiency", efficiency, 1, 0.8, 10})
		}
		all = append(all, candidate{"lengths", 0.35, 0.75, 0.8, 10}, candidate{"scale", 0.35, 1, 1, 10},
			candidate{"scale", 0.35, 1, 0.53, 10}, candidate{"tables", 0.35, 1, 0.8, 12},
			candidate{"tables", 0.35, 1, 0.8, 25}, candidate{"efficiency, tables", 0.56, 1, 0.8, 7})
	}
	for i, c := range all {
		o := c.outcomes()
		t.Logf("| %s %.3g %.3g %.3g %d | %.0f%%, %.0f%% | %.2f, %.2f | %.2f %.2f %.2f | %.1f | %.1f | %.1f |", c.name,
			c.efficiency, c.length, c.scale, c.tables, 100*o.share15, 100*o.share20, o.long, o.short, o.mean[0], o.mean[1],
			o.mean[2], o.floor6, o.p996, o.p993)
		if i > 0 {
			continue
		}
		switch {
		case !(o.share15 > 0.5 && o.share20 > 0.4):
			t.Error("figure 1: want transfers of more than 50% and 40%")
		case math.Abs(o.long-0.20) > 0.07 || math.Abs(o.short-0.55) > 0.05:
			t.Error("figure 4: want best ratios from about 0.20 to 0.55")
		case !(o.p996 > 38 && o.p996 < 46):
			t.Error("figure 11: want a best fixed ratio with a P99 of 38 to 46 ms")
		case math.Abs(o.mean[0]-0.392) > 0.01:
			t.Error("Table III: want a mean best ratio of 0.392 in Steady")
		}
	}
}
