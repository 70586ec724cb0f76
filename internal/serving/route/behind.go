package route

import (
	"fmt"
	"math"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/policies"
)

// Parameters of every router of objects: a second level that all nodes share.
var (
	behindParam = params.Param{Name: "behind", Default: 0.0, Min: 0, Max: 1e6, Doc: "capacity of a second level that " +
		"all nodes share, which serves what they miss, as a multiple of a node's; 0: there is none"}
	behindPolicyParam = params.Param{Name: "behind-policy", Default: "lru", Doc: "the policy of the second level"}
)

// Behind returns the capacity and the policy of the second level behind nodes of a capacity; ok is false without one.
func Behind(s Spec, node int64) (capacity int64, policy policies.Spec, ok bool) {
	if s.Entry.Place == nil || s.Params.Float(behindParam.Name) == 0 {
		return 0, policies.Spec{}, false
	}
	policy, err := behindPolicy(s.Params)
	if err != nil {
		panic(err) // CheckValues has accepted it
	}
	capacity = int64(math.Min(s.Params.Float(behindParam.Name)*float64(node), 1<<62))
	return max(1, capacity), policy, true
}

// HasSecond reports whether a second level is behind the nodes.
func HasSecond(s Spec) bool {
	_, _, ok := Behind(s, 1)
	return ok
}

func checkBehind(v params.Values) error {
	if v.Float(behindParam.Name) > 0 {
		_, err := behindPolicy(v)
		return err
	}
	if policy := v.Text(behindPolicyParam.Name); policy != behindPolicyParam.Default {
		return fmt.Errorf("%s=%s: nothing is behind the nodes; add behind=8", behindPolicyParam.Name, policy)
	}
	return nil
}

// behindPolicy reads the policy of the second level, whose requests are known only in the replay.
func behindPolicy(v params.Values) (policies.Spec, error) {
	text := v.Text(behindPolicyParam.Name)
	policy, err := policies.Registry.Parse(text)
	switch e := policy.Entry; {
	case err != nil:
		return policy, fmt.Errorf("%s: %w", behindPolicyParam.Name, err)
	case e.Kind != policies.Online || e.ShortFor != nil || policies.Can[policies.PredictorUser](e):
		return policy, fmt.Errorf("%s=%s: it knows the future, predicts it or has a cache of its own; want another policy, "+
			"such as lru", behindPolicyParam.Name, text)
	}
	return policy, nil
}
