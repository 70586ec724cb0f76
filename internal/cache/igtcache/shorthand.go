package igtcache

import (
	"fmt"
	"maps"
	"slices"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/policies"
)

// Shorthand stands for the cache in a list of policies, so that it can be compared with policies of the exact cache.
var Shorthand = policies.Entry{
	Name:    name,
	Look:    policies.Look{Color: policies.Magenta, Mark: policies.Triangle},
	Summary: summary,
	Source:  source,
	Bypass:  true,
	Random:  true,
	Params:  shorthandParameters,
	Check: func(v policies.Values) error {
		in, _, err := inside(v)
		if err != nil {
			return err
		}
		_, err = optionsOf(in)
		return err
	},
	Resolve: func(e *policies.Entry, v policies.Values) {
		if _, policy, err := inside(v); err == nil {
			e.Type, e.Units = policy.Entry.Type, policy.Entry.Units
		}
	},
	ShortFor: func(v policies.Values) (string, policies.Values, policies.Spec) {
		in, policy, _ := inside(v) // already checked
		return name, in, policy
	},
}

// The policy of skewed streams: whichever of several does best, and that of the paper.
const (
	skewedDefault = "duel"
	skewedInPaper = "lru"
)

// shorthandParameters are the cache's parameters, but evict may name the policy inside, and so does skewed.
var shorthandParameters = func() []params.Param {
	at := slices.IndexFunc(parameters, func(p params.Param) bool { return p.Name == "evict" })
	all := slices.Insert(slices.Clone(parameters), at+1, params.Param{Name: "skewed", Default: skewedDefault,
		Doc: "the policy of skewed streams, and of objects that belong to no stream; lru with mode=paper"})
	all[at] = params.Param{Name: "evict", Default: pattern, Doc: "what is evicted: pattern (what sequential streams " +
		"have read, nothing of random ones, skewed as below), or a policy for all streams"}
	return all
}()

// inside returns what the parameters of Shorthand stand for: the cache's, and the policy inside.
func inside(v policies.Values) (in params.Values, policy policies.Spec, err error) {
	in, text, from := maps.Clone(v), v.Text("skewed"), "skewed"
	delete(in, "skewed")
	if v.Text("mode") == paper && text == skewedDefault {
		text = skewedInPaper
	}
	if v.Text("evict") != pattern {
		in["evict"], text, from = always, v.Text("evict"), "evict"
	}
	if policy, err = policies.Registry.Parse(text); err == nil {
		err = checkInside(policy.Entry)
	}
	if err != nil {
		err = fmt.Errorf("%s=%s: %w", from, text, err)
	}
	return in, policy, err
}
