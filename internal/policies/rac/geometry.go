package rac

import (
	"fmt"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/policies"
)

// Geometry has the similarities (cosines) of queries that RAC distinguishes.
type Geometry struct {
	Topic    float64 // of two queries of a topic that are not related otherwise
	Siblings float64 // of two queries that follow the same anchor
	Child    float64 // of an anchor and a query that follows it
}

// ContradictsDefaults says where the parameters that rac has by default contradict similarities.
func (g Geometry) ContradictsDefaults() (all []string) {
	defaults, err := params.ParseArgs(racParams, "")
	if err != nil {
		return nil // defaults are valid
	}
	for _, text := range g.contradictions(defaults) {
		all = append(all, "with the defaults of rac, "+text)
	}
	return all
}

// contradictions says where parameters of rac contradict similarities. The paper's rac needs tau-route < Topic, so that
// all queries of a topic meet, and Siblings < tau-edge < Child, so that queries build on their anchor and not on each
// other.
func (g Geometry) contradictions(v policies.Values) (all []string) {
	route, edge := v.Float("tau-route"), v.Float("tau-edge")
	if route >= g.Topic {
		all = append(all, fmt.Sprintf("queries of a topic are %.3g similar, and tau-route is %.3g: rac takes each "+
			"topic for several (metric topics_per_label); want a tau-route below %.3g", g.Topic, route, g.Topic))
	}
	if g.Child <= g.Siblings {
		return append(all, fmt.Sprintf("queries that follow the same anchor are %.3g similar, and no more to the anchor: "+
			"no tau-edge links them to it and not to each other", g.Siblings))
	}
	if edge <= g.Siblings {
		all = append(all, fmt.Sprintf("queries that follow the same anchor are %.3g similar, and tau-edge is %.3g: rac "+
			"links them to each other; want a tau-edge above %.3g", g.Siblings, edge, g.Siblings))
	}
	if edge >= g.Child {
		all = append(all, fmt.Sprintf("a query is %.3g similar to the anchor that it follows, and tau-edge is %.3g: rac "+
			"does not link them; want a tau-edge below %.3g", g.Child, edge, g.Child))
	}
	return all
}
