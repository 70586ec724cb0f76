package cache

import (
	"math"

	"github.com/cachesim/cachesim/internal/oracle/predict"
)

// NodeGroups are the positions at which the prompts of one of several nodes begin. A position is the number of blocks
// of the prompts that have begun there before. Later prompts are not known yet, so their positions are behind all
// others. A nil pointer stands for the positions of the trace.
type NodeGroups struct {
	positions []int // per prompt, as many as the trace has
	begun     int
}

// newNodeGroups returns the positions of a node on which none of so many prompts has begun.
func newNodeGroups(prompts int) *NodeGroups {
	g := &NodeGroups{positions: make([]int, prompts)}
	for i := range g.positions {
		g.positions[i] = math.MaxInt
	}
	return g
}

// Begin adds a prompt with a number of blocks, the first of them at a position. Where it ends, the next one begins.
func (g *NodeGroups) Begin(first, blocks int) {
	if g == nil {
		return
	}
	g.positions[g.begun] = first
	if g.begun++; g.begun < len(g.positions) {
		g.positions[g.begun] = first + blocks
	}
}

// ForNode gives the config of a node, or of what all nodes share, positions and predictors of its own, if the policy
// uses predictions. Groups that it has already stay.
func (c *Config) ForNode() (err error) {
	if c.NodePredictor == nil {
		return nil
	}
	if c.Groups == nil {
		c.Groups = newNodeGroups(len(c.Trace.Groups))
	}
	groups, build := c.Groups, c.NodePredictor
	c.FurtherPredictor = func(seed uint64) (predict.Predictor, error) { return build(groups.positions, seed) }
	c.Predictor, err = c.FurtherPredictor(c.Seed)
	return err
}
