package allocate

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/internal/base/suggest"
)

// trained is an item of the parameter train.
type trained struct {
	name   string
	weight float64 // 0: none is given
}

func checkTraining(v Values) error {
	_, err := parseTraining(v.Text("train"))
	return err
}

// parseTraining reads the parameter train: names, or names with a number above 0.
func parseTraining(text string) (all []trained, err error) {
	for _, item := range strings.Split(text, ";") {
		t := trained{name: strings.TrimSpace(item)}
		if i := strings.LastIndexByte(item, ':'); i >= 0 {
			t.name = strings.TrimSpace(item[:i])
			number := strings.TrimSpace(item[i+1:])
			if t.weight, err = strconv.ParseFloat(number, 64); err != nil || !(t.weight > 0 && t.weight <= 1e12) {
				return nil, fmt.Errorf("train=%s: %q is not NAME:NUMBER with a number above 0", text, item)
			}
		}
		if t.name == "" {
			return nil, fmt.Errorf("train=%s: want the names of the training tenants, separated by semicolons", text)
		}
		if slices.ContainsFunc(all, func(o trained) bool { return o.name == t.name }) {
			return nil, fmt.Errorf("train=%s: tenant %s is given twice", text, t.name)
		}
		all = append(all, t)
	}
	return all, nil
}

// training gives each training tenant a pool of its own, and all others one together, the last pool. It implements
// Pooling.
type training struct {
	weights []float64 // per training tenant
	names   []string
	of      []int // per tenant: its pool
	share   float64
}

func newTraining(c Config) (training, error) {
	all, err := parseTraining(c.Params.Text("train"))
	if err != nil {
		return training{}, err
	}
	t := training{of: make([]int, len(c.Tenants)), share: c.Params.Float("share")}
	for i := range t.of {
		t.of[i] = len(all)
	}
	for i, item := range all {
		tenant := slices.Index(c.Tenants, item.name)
		if tenant < 0 {
			return training{}, suggest.Unknown("tenant", item.name, c.Tenants)
		}
		t.of[tenant] = i
		t.names = append(t.names, item.name)
		t.weights = append(t.weights, item.weight)
	}
	if slices.Contains(t.of, len(all)) {
		t.names = append(t.names, "others")
	}
	return t, nil
}

func (t *training) Pools() (of []int, names []string) { return t.of, t.names }

// claim returns what training tenants may have together: everything if there are no others.
func (t *training) claim(s *State) int64 {
	if len(t.weights) == len(t.names) {
		return s.Capacity
	}
	return min(s.Capacity, int64(t.share*float64(s.Capacity)))
}

// rest gives the others what is left. Without others it stays unused: each training tenant then has its whole data set.
func (t *training) rest(s *State, capacities []int64) {
	if len(t.weights) == len(t.names) {
		return
	}
	others := len(capacities) - 1
	capacities[others] = s.Capacity
	for _, c := range capacities[:others] {
		capacities[others] -= c
	}
}
