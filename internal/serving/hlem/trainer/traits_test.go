package trainer

import (
	"math"
	"slices"
	"testing"

	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/serving/hlem/controllers"
	"github.com/cachesim/cachesim/internal/traces/recommender"
)

// TestTraitsAreThoseOfTheTraining checks that what allocators take for the nodes of their training are those that are
// drawn: the smallest and the largest node reach the ends of the traits, and others are hardly beyond them.
func TestTraitsAreThoseOfTheTraining(t *testing.T) {
	drawn := []Workload{
		{Hot: leastHot, Regime: recommender.Steady, Tables: slices.Min(tables[:]), Layers: slices.Min(layers[:]),
			Users: slices.Min(people[:]), Shorter: true, Faster: slices.Max(faster[:])},
		{Hot: mostHot, Regime: recommender.Trend, Tables: slices.Max(tables[:]), Layers: slices.Max(layers[:]),
			Users: slices.Max(people[:]), Faster: slices.Min(faster[:])},
		{Hot: leastHot, Regime: recommender.Steady}, // the fewest KV hits
		{Hot: mostHot, Regime: recommender.Trend, Own: slices.Max(ownShares[:]), Tables: slices.Min(tables[:]),
			Layers: slices.Min(layers[:]), Users: slices.Min(people[:]), Faster: 1}, // the fewest rows that miss
		{Hot: leastHot, Regime: recommender.Burst, Seed: 7}, // the least time free
	}
	least, most := [len(controllers.Traits)]float64{}, [len(controllers.Traits)]float64{}
	for i := range least {
		least[i], most[i] = math.Inf(1), math.Inf(-1)
	}
	for _, w := range drawn {
		low, high := traitsOf(w)
		for i := range low {
			least[i], most[i] = min(least[i], low[i]), max(most[i], high[i])
		}
	}
	bits := random.Stream(9, 9)
	for range brief.Of(50, 5) {
		low, high := traitsOf(draw(bits))
		for i, trait := range controllers.Traits {
			if low[i] < 0.8*trait.Least || high[i] > 1.1*trait.Most {
				t.Errorf("%s: %v to %v are drawn, the trait says %v to %v", trait.Name, low[i], high[i], trait.Least, trait.Most)
			}
		}
	}
	for i, trait := range controllers.Traits {
		const near = 1.04
		if math.Abs(math.Log(least[i]/trait.Least)) > math.Log(near) ||
			math.Abs(math.Log(most[i]/trait.Most)) > math.Log(near) {
			t.Errorf("%s: %.4g to %.4g are drawn, the trait says %v to %v", trait.Name, least[i], most[i], trait.Least,
				trait.Most)
		}
	}
}

// traitsOf returns between which values the means of the traits are, over ten epochs or so as allocators have them.
func traitsOf(w Workload) (least, most [len(controllers.Traits)]float64) {
	model := w.model()
	node := model.NewNode()
	var means [len(controllers.Traits)]float64
	var seen controllers.Seen
	for epoch, load := range w.loads(100) {
		window := node.Step(load, normal)
		window.Forecast = model.Forecast(load)
		seen.See(&window)
		for i, trait := range controllers.Traits {
			x := trait.Of(&seen)
			if epoch == 0 {
				means[i], least[i], most[i] = x, x, x
			}
			means[i] += 0.1 * (x - means[i])
			least[i], most[i] = min(least[i], means[i]), max(most[i], means[i])
		}
	}
	return least, most
}
