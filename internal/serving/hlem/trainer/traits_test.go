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
// drawn: none is beyond the ends of the traits, and the smallest and the largest node reach them.
func TestTraitsAreThoseOfTheTraining(t *testing.T) {
	drawn := []Workload{
		{Hot: leastHot, Regime: recommender.Steady, Tables: slices.Min(tables[:]), Layers: slices.Min(layers[:]),
			Users: slices.Min(people[:]), Shorter: true, Faster: slices.Max(faster[:])},
		{Hot: mostHot, Regime: recommender.Trend, Tables: slices.Max(tables[:]), Layers: slices.Max(layers[:]),
			Users: slices.Max(people[:]), Faster: slices.Min(faster[:])},
	}
	bits := random.Stream(9, 9)
	for range brief.Of(50, 10) {
		drawn = append(drawn, draw(bits))
	}
	least, most := [len(controllers.Traits)]float64{}, [len(controllers.Traits)]float64{}
	for i := range least {
		least[i], most[i] = math.Inf(1), math.Inf(-1)
	}
	for _, w := range drawn {
		loads := w.loads(2)
		window := w.model().NewNode().Step(loads[len(loads)-1], normal)
		for i, trait := range controllers.Traits {
			x := trait.Of(&window)
			least[i], most[i] = min(least[i], x), max(most[i], x)
		}
	}
	for i, trait := range controllers.Traits {
		const near = 1.01
		if math.Abs(math.Log(least[i]/trait.Least)) > math.Log(near) ||
			math.Abs(math.Log(most[i]/trait.Most)) > math.Log(near) {
			t.Errorf("%s: %.4g to %.4g are drawn, the trait says %v to %v", trait.Name, least[i], most[i], trait.Least,
				trait.Most)
		}
	}
}
