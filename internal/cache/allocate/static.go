package allocate

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/suggest"
)

var staticEntry = Entry{
	Name:    "static",
	Summary: "given shares, from the first request to the last",
	Source:  "cachesim",
	Fixed:   true,
	Metrics: divisionMetrics,
	Params: append(slices.Clone(shareParams), []params.Param{
		{Name: "r", Default: 0.0, Min: 0, Max: 1,
			Doc: "instead of shares, the share of the first of two pools: the embeddings on a serving node"},
	}...),
	Check: func(v Values) error {
		if v.Float("r") == 0 {
			_, err := parseShares(v.Text("shares"))
			return err
		}
		if v.Text("shares") != "" || v.Float("rest") != 0 {
			return fmt.Errorf("r=%v and shares exclude each other: r is the share of the first of two pools", v.Float("r"))
		}
		return nil
	},
	Remark: whoHasWhich,
	New:    newStatic,
}

var shareParams = []params.Param{
	{Name: "shares", Default: "",
		Doc: "the share of each tenant, relative to the others and separated by semicolons: 3;1 for the tenants " +
			"in order of their first request, or web:3;db:1 by name"},
	{Name: "rest", Default: 0.0,
		Doc: "the share of each tenant that is not in shares; 0: a tenant without a share is an error"},
}

var guaranteeEntry = Entry{
	Name: "guarantee",
	Summary: "of prompts: given shares, which tenants lend each other while they do not use them; who is furthest above " +
		"its share gives up a block",
	Source:  "cachesim; memory.low of Linux's control groups",
	Fixed:   true,
	Lends:   true,
	Metrics: tenantMetrics,
	Params:  shareParams,
	Check: func(v Values) error {
		_, err := parseShares(v.Text("shares"))
		return err
	},
	Remark: whoHasWhich,
	New:    byShares,
}

// share is one item of the parameter shares.
type share struct {
	tenant string // "": the tenant at its place
	weight float64
}

// parseShares reads the parameter shares: either all items have a name, or none has.
func parseShares(text string) (shares []share, err error) {
	if strings.TrimSpace(text) == "" {
		return nil, fmt.Errorf("shares is missing; want shares=3;1 in order of first requests, " +
			"shares=web:3;db:1, or static(r=0.4) on serving nodes")
	}
	for _, item := range strings.Split(text, ";") {
		s := share{}
		number := item
		if i := strings.LastIndexByte(item, ':'); i >= 0 {
			s.tenant, number = strings.TrimSpace(item[:i]), item[i+1:]
			if s.tenant == "" {
				return nil, fmt.Errorf("shares=%s: %q has no name before the colon", text, item)
			}
		}
		s.weight, err = strconv.ParseFloat(strings.TrimSpace(number), 64)
		if err != nil || !(s.weight >= 0) || math.IsInf(s.weight, 0) {
			return nil, fmt.Errorf("shares=%s: %q is not a share: want a number of at least 0, or NAME:NUMBER", text, item)
		}
		if slices.ContainsFunc(shares, func(o share) bool { return s.tenant != "" && o.tenant == s.tenant }) {
			return nil, fmt.Errorf("shares=%s: tenant %s is given twice", text, s.tenant)
		}
		shares = append(shares, s)
		if (s.tenant == "") != (shares[0].tenant == "") {
			return nil, fmt.Errorf("shares=%s: want a name for every share, or for none", text)
		}
	}
	return shares, nil
}

// mostRemarked is the number of tenants that a remark names.
const mostRemarked = 10

// whoHasWhich says which tenants have shares without names.
func whoHasWhich(v Values, tenants []string) string {
	shares, err := parseShares(v.Text("shares"))
	if err != nil || shares[0].tenant != "" {
		return ""
	}
	var named []string
	for i := range min(len(shares), len(tenants), mostRemarked) {
		named = append(named, fmt.Sprintf("%s:%v", tenants[i], shares[i].weight))
	}
	if more := len(shares) - len(named); more > 0 {
		named = append(named, fmt.Sprintf("and %d more", more))
	}
	return fmt.Sprintf("shares=%s goes to the tenants in the order of their first requests: %s; names in shares "+
		"say who has which", v.Text("shares"), strings.Join(named, ";"))
}

// static divides by fixed weights.
type static struct{ weights []float64 }

func newStatic(c Config) (Allocator, error) {
	if r := c.Params.Float("r"); r > 0 {
		if len(c.Tenants) != 2 {
			return nil, fmt.Errorf("r=%v divides the capacity between two pools, but there are %d; give shares", r,
				len(c.Tenants))
		}
		return &static{[]float64{r, 1 - r}}, nil
	}
	return byShares(c)
}

// byShares divides by shareParams, which give every tenant a share.
func byShares(c Config) (Allocator, error) { return weighted(c, false) }

// weighted divides by shareParams. Without rest, tenants that are not in shares are an error, or have none.
func weighted(c Config, mayLack bool) (Allocator, error) {
	shares, err := parseShares(c.Params.Text("shares"))
	if err != nil {
		return nil, err
	}
	weights := make([]float64, len(c.Tenants))
	given := make([]bool, len(c.Tenants))
	for i, s := range shares {
		if s.tenant != "" {
			if i = slices.Index(c.Tenants, s.tenant); i < 0 {
				return nil, suggest.Unknown("tenant", s.tenant, c.Tenants)
			}
		}
		if i >= len(c.Tenants) {
			return nil, fmt.Errorf("shares has %d items, want one for each of the trace's %d tenants", len(shares),
				len(c.Tenants))
		}
		weights[i], given[i] = s.weight, true
	}
	rest := c.Params.Float("rest")
	var sum float64
	for i := range weights {
		if !given[i] {
			if rest == 0 && !mayLack {
				return nil, fmt.Errorf("tenant %s has no share: give it one, or write rest=1", c.Tenants[i])
			}
			weights[i] = rest
		}
		sum += weights[i]
	}
	if !(sum > 0) || math.IsInf(sum, 0) {
		return nil, fmt.Errorf("the shares add up to %v: want a sum above 0", sum)
	}
	return &static{weights}, nil
}

func (*static) Needs() Needs                            { return Needs{} }
func (a *static) Allocate(s *State, capacities []int64) { divide(s.Capacity, a.weights, capacities) }
