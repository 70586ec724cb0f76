package trainer

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/parallel"
	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache/allocate"
	"github.com/cachesim/cachesim/internal/serving/hlem"
)

// A search tries candidates on the same workloads, with as many episodes altogether as trees are trained in.
const (
	candidates     = 40
	searched       = budget / candidates // workloads
	candidatesSeed = 1<<32 + 1
	searchSeed     = 1<<32 + 2 // of the workloads
)

// A tuner draws the parameters of a controller; "" are the defaults, which every search tries first.
type tuner struct {
	name string
	draw func(bits *rand.PCG) string
}

// logarithmic draws a number between two, every power of ten as often, with two digits.
func logarithmic(bits *rand.PCG, low, high float64) string {
	return fmt.Sprintf("%.2g", low*math.Pow(high/low, random.Unit(bits)))
}

// one draws one of several texts.
func one(bits *rand.PCG, of ...string) string {
	i, _ := random.Below(bits, len(of))
	return of[i]
}

// tuners are the controllers with constants that no other text gives.
var tuners = []tuner{
	{"pid", func(b *rand.PCG) string {
		return fmt.Sprintf("setpoint=%.2f,kp=%s,ki=%s,kd=%s", -0.7*random.Unit(b), logarithmic(b, 0.02, 2),
			logarithmic(b, 0.002, 0.2), logarithmic(b, 0.005, 0.5))
	}},
	{"bo", func(b *rand.PCG) string {
		return fmt.Sprintf("window=%s,length=%s,noise=%s,step=%s", one(b, "5", "10", "20", "40", "80"),
			logarithmic(b, 0.05, 2), logarithmic(b, 0.01, 5), one(b, "0.04", "0.1", "0.2", "1"))
	}},
	{"milp", func(b *rand.PCG) string { return "step=" + logarithmic(b, 0.01, 1) }},
	{"balance", func(b *rand.PCG) string {
		return fmt.Sprintf("hysteresis=%.2f,step=%s", 1+float64(2*random.Unit(b)), logarithmic(b, 0.005, 0.1))
	}},
	{"trees", func(b *rand.PCG) string { return "step=" + logarithmic(b, 0.01, 1) }},
	{"trees(oft=on)", func(b *rand.PCG) string {
		return fmt.Sprintf("oft_rate=%s,step=%s", logarithmic(b, 0.01, 1), logarithmic(b, 0.01, 1))
	}},
}

// with returns the text of a controller with further parameters.
func with(name, parameters string) string {
	switch {
	case parameters == "":
		return name
	case strings.HasSuffix(name, ")"):
		return strings.TrimSuffix(name, ")") + "," + parameters + ")"
	}
	return name + "(" + parameters + ")"
}

// candidatesOf returns what a search tries.
func (u tuner) candidates() []string {
	all := []string{u.name}
	bits := random.Stream(candidatesSeed, 0)
	for len(all) < candidates {
		all = append(all, with(u.name, u.draw(bits)))
	}
	return all
}

// reward serves the first workloads of the search under a controller, and returns the mean reward of an epoch.
func reward(ctx context.Context, text string, workloads int) (float64, error) {
	spec, err := allocate.Registry.Parse(text)
	if err != nil {
		return 0, err
	}
	rewards := make([]float64, workloads)
	err = parallel.For(ctx, parallel.Jobs(0), workloads, func(_ context.Context, _, i int) error {
		w := draw(random.Stream(searchSeed, uint64(i)))
		a, err := allocate.NewNumbered(spec, []string{"embeddings", "users"}, uint64(i), 0)
		if err != nil {
			return err
		}
		rewards[i] = w.serve(a) / float64(workloads)
		return nil
	})
	sum := 0.0
	for _, r := range rewards {
		sum += r
	}
	return sum, err
}

// serve returns the mean reward of an episode under an allocator, as the models let it decide: after each epoch.
func (w Workload) serve(a allocate.Allocator) (mean float64) {
	const capacity = gpus * gpuMemory
	m := w.model()
	node, needs := m.NewNode(), a.Needs()
	s := &allocate.State{Capacity: capacity, Pools: make([]allocate.Pool, 2)}
	window, capacities := hlem.Window{Objective: hlem.DefaultObjective()}, make([]int64, 2)
	for k, load := range w.loads(epochs) {
		s.Epoch = k
		hlem.Divide(a, s, &window, capacities)
		window = node.Step(load, float64(capacities[0])/capacity)
		if needs.Forecast {
			window.Forecast = m.Forecast(load)
		}
		mean += window.Reward(weight) / epochs
	}
	return mean
}

// TestTuned keeps what the searches found: testdata/NAME.txt has, for a controller, its defaults and the best
// candidate, with their mean rewards over all workloads of the search and over the first two. With UPDATE=1 it
// searches, in some minutes. Otherwise it serves those two again, and compares the parameters with those in the
// experiments.
func TestTuned(t *testing.T) {
	experiments := ""
	for _, name := range []string{"table3", "real"} {
		text := must.Get(os.ReadFile("../../../../configs/hlem-" + name + ".yaml"))(t)
		experiments += string(text)
	}
	for _, u := range brief.Sample(2, tuners...) {
		t.Run(u.name, func(t *testing.T) {
			if os.Getenv("UPDATE") != "" {
				u.search(t)
			}
			text := must.Get(os.ReadFile(u.file()))(t)
			lines := strings.Split(strings.TrimSpace(string(text)), "\n")
			if len(lines) != 2 {
				t.Fatalf("%s has %d lines, want 2", u.file(), len(lines))
			}
			for _, line := range lines {
				fields := strings.Fields(line)
				if len(fields) != 3 {
					t.Fatalf("%s: %q: want a controller and two rewards", u.file(), line)
				}
				if got := rewardOf(t, fields[0], 2); got != fields[2] {
					t.Errorf("%s: the mean reward of two workloads is %s, %s says %s; UPDATE=1 searches again", fields[0], got,
						u.file(), fields[2])
				}
			}
			if best, _, _ := strings.Cut(lines[1], " "); !strings.Contains(experiments, best) {
				t.Errorf("%s was found, but is not what the experiments compare", best)
			}
		})
	}
}

// file is where the result of a search is kept.
func (u tuner) file() string {
	name, _, _ := strings.Cut(u.name, "=")
	return "testdata/" + strings.ReplaceAll(name, "(", "-") + ".txt"
}

// rewardOf returns the mean reward of the first workloads as a text.
func rewardOf(t *testing.T, text string, workloads int) string {
	t.Helper()
	r := must.Get(reward(t.Context(), text, workloads))(t)
	return fmt.Sprintf("%.4f", r)
}

// search writes the file.
func (u tuner) search(t *testing.T) {
	t.Helper()
	best, most := "", math.Inf(-1)
	for _, text := range u.candidates() {
		r := must.Get(reward(t.Context(), text, searched))(t)
		t.Logf("%.4f %s", r, text)
		if r > most {
			best, most = text, r
		}
	}
	kept := ""
	for _, text := range []string{u.name, best} {
		kept += fmt.Sprintf("%s %s %s\n", text, rewardOf(t, text, searched), rewardOf(t, text, 2))
	}
	must.Do(t, os.WriteFile(u.file(), []byte(kept), 0o644))
}
