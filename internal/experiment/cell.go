package experiment

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/workload"
)

// Cell is the unit of work: one policy at one capacity on one trace from one seed. It holds all that determines its
// record, so that it can be run anywhere.
type Cell struct {
	Number   int               `json:"number"` // its place in the plan, from 0
	Hash     string            `json:"hash"`
	Workload workload.Workload `json:"workload"`
	partTexts
	Label    string `json:"label"`    // its name in figures, tables and claims
	Capacity string `json:"capacity"` // as written: "1%"
	// "as-written", "bytes" or "unit": which sizes count, capacity.Mode
	Sizes string `json:"sizes"`
	// the first one for a policy that makes no random choices, unless the requests depend on it
	Seed    uint64   `json:"seed"`
	Warmup  int      `json:"warmup,omitempty"`  // requests
	Axes    string   `json:"axes,omitempty"`    // "small=0.1,alpha=0.9"
	Against []string `json:"against,omitempty"` // hashes of the optimum cells that its record is held against
	// only there because others are held against it: no record of its own
	Auxiliary bool   `json:"auxiliary,omitempty"`
	Version   string `json:"version"` // of the program
}

// partTexts are the parts of a cell, each with every parameter. A kind that is not among Policy and Cache is "" where
// there is no part, and absent in plans, so that a new kind changes no hash.
type partTexts struct {
	Cache     string `json:"cache"`
	Policy    string `json:"policy"`              // "s3fifo(small=0.1,ghost=0.9)"
	Predictor string `json:"predictor,omitempty"` // "" where the policy asks none
	Model     string `json:"model,omitempty"`     // "" where hits are counted and nothing else
}

// textsOf writes parts.
func textsOf(p *sim.Parts) partTexts {
	texts := partTexts{Policy: p.Policy.Full()}
	for _, kind := range partKinds {
		if part := kind.Of(p); part != nil {
			*kind.text(&texts) = part.Full()
		}
	}
	return texts
}

// parse reads them.
func (t *partTexts) parse() (p sim.Parts, err error) {
	if p.Policy, err = policies.ParseSpec(t.Policy); err != nil {
		return p, err
	}
	for _, kind := range partKinds {
		text := *kind.text(t)
		if text == "" && kind.Kind != sim.CacheKind {
			continue
		}
		part, err := kind.Parse(text)
		if err != nil {
			return p, err
		}
		part.Into(&p)
	}
	return p, nil
}

// With returns c with other parts, and not yet named.
func (c Cell) With(parts sim.Parts) Cell {
	c.partTexts = textsOf(&parts)
	return c
}

// WithHash returns c named by everything that determines its record.
func (c Cell) WithHash() Cell {
	c.Hash = c.hash()
	return c
}

// hash names the cell by everything that determines its record: what is requested, of which cache and policy, and by
// which version. How the trace, the policy and the axes are called does not matter, nor where the files lie if their
// checksum is known.
func (c Cell) hash() string {
	c.Number, c.Hash, c.Label, c.Axes, c.Against, c.Auxiliary = 0, "", "", "", nil, false
	c.Workload = c.Workload.Identity()
	text, err := json.Marshal(c)
	if err != nil {
		panic(err) // texts and numbers alone
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:10])
}
