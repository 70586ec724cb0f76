package experiment

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/records/series"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/traces/workload"
)

// Cell is the unit of work: one policy at one capacity on one trace from one seed. It contains everything that
// determines its record. Plans and results store it as a CellText, so that it can run anywhere.
type Cell struct {
	Number    int // its place in the plan, from 0
	Hash      string
	Workload  workload.Workload
	Parts     *Parts            // what is replayed; shared by cells
	Label     string            // its name in figures, tables and claims
	Capacity  capacity.Capacity // as written; with numbers if the trace was known to the plan
	Sizes     capacity.Mode     // which sizes count
	Seed      uint64            // the first of the seeds for a policy without random choices, unless requests depend on it
	Warmup    int               // requests
	Series    series.Window
	Axes      string   // "small=0.1,alpha=0.9"
	Against   []string // hashes of the optimum cells that its record is compared with
	Auxiliary bool     // needed only for comparison; has no record of its own
	Version   string   // of the program
	// OnePass says that the cell may share one pass over reuse distances with others, as in sim.Cell. Plans leave it out,
	// because the counts are the same.
	OnePass bool
}

// Parts are the parts of cells, with their texts.
type Parts struct {
	sim.Parts
	texts partTexts
}

func NewParts(p sim.Parts) *Parts { return &Parts{p, textsOf(&p)} }

// PolicyText returns the policy with every parameter.
func (p *Parts) PolicyText() string { return p.texts.Policy }

// partTexts are the parts of a cell, each with every parameter. Without a part, kinds other than Policy and Cache are
// "" and left out of plans, so that a new kind changes no hash.
type partTexts struct {
	Cache      string `json:"cache"`
	Policy     string `json:"policy"`              // "s3fifo(small=0.1,ghost=0.9)"
	Predictor  string `json:"predictor,omitempty"` // "" if the policy uses none
	Reuse      string `json:"reuse,omitempty"`
	Retriever  string `json:"retriever,omitempty"`     // "" for the default of the policy
	Allocator  string `json:"allocator,omitempty"`     // "" if the capacity is not divided among tenants
	Admission  string `json:"admission,omitempty"`     // "" if everything is written to lower tiers
	Model      string `json:"model,omitempty"`         // "" if hits are only counted
	Router     string `json:"router,omitempty"`        // "" if there is one node
	Prefetcher string `json:"prefetcher,omitempty"`    // "" if only requested objects are loaded
	Checksum   string `json:"part_checksum,omitempty"` // of the files that they read
}

func textsOf(p *sim.Parts) partTexts {
	texts := partTexts{Policy: p.Policy.Full(), Checksum: p.Checksum}
	for _, kind := range partKinds {
		if part := kind.Of(p); part != nil {
			*kind.text(&texts) = part.Full()
		}
	}
	return texts
}

// identity returns the texts without the paths of files: a checksum identifies their contents.
func (t partTexts) identity() partTexts {
	if t.Checksum == "" {
		return t
	}
	unnamed := func(string) string { return "file" }
	t.Policy = policies.Registry.WithFiles(t.Policy, unnamed)
	for _, kind := range partKinds {
		if text := kind.text(&t); *text != "" {
			*text = kind.WithFiles(*text, unnamed)
		}
	}
	return t
}

// parse is the inverse of textsOf.
func (t *partTexts) parse() (sim.Parts, error) {
	return sim.ParseParts(t.Policy, t.Checksum, func(kind int) string { return *partKinds[kind].text(t) })
}

// CellText is a Cell as plans and results store it, in texts and numbers only.
type CellText struct {
	Number   int               `json:"number"`
	Hash     string            `json:"hash"`
	Workload workload.Workload `json:"workload"`
	partTexts
	Label     string   `json:"label"`
	Capacity  string   `json:"capacity"`
	Sizes     string   `json:"sizes"` // "as-written", "bytes" or "unit"
	Seed      uint64   `json:"seed"`
	Warmup    int      `json:"warmup,omitempty"`
	Series    string   `json:"series,omitempty"` // the window: "10000", "1h0m0s"
	Axes      string   `json:"axes,omitempty"`
	Against   []string `json:"against,omitempty"`
	Auxiliary bool     `json:"auxiliary,omitempty"`
	Version   string   `json:"version"`
}

func (c Cell) Text() CellText {
	return CellText{Number: c.Number, Hash: c.Hash, Workload: c.Workload, partTexts: c.Parts.texts, Label: c.Label,
		Capacity: c.Capacity.String(), Sizes: c.Sizes.String(), Seed: c.Seed, Warmup: c.Warmup, Axes: c.Axes,
		Series: c.Series.String(), Against: c.Against, Auxiliary: c.Auxiliary, Version: c.Version}
}

// WithHash returns c with its hash, which covers everything that determines its record.
func (c Cell) WithHash() Cell {
	c.Hash = c.Text().hash()
	return c
}

// hash covers everything that determines the cell's record: the requests, the cache, the policy and the version. The
// names of the trace, the policy and the axes do not matter, nor do the paths of files with a known checksum.
func (t CellText) hash() string {
	t.Number, t.Hash, t.Label, t.Axes, t.Against, t.Auxiliary = 0, "", "", "", nil, false
	t.Workload, t.partTexts = t.Workload.Identity(), t.partTexts.identity()
	text, err := json.Marshal(t)
	if err != nil {
		panic(err) // texts and numbers alone
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:10])
}

// IsNamed reports whether the cell's hash is correct.
func (t CellText) IsNamed() bool { return t.Hash == t.hash() }

// CellReader reads cells from their texts. Cells with the same parts share them.
type CellReader map[partTexts]*Parts

func (r CellReader) Read(t CellText) (c Cell, err error) {
	c = Cell{
		Number: t.Number, Hash: t.Hash, Workload: t.Workload, Label: t.Label, Seed: t.Seed, Warmup: t.Warmup, Axes: t.Axes,
		Against: t.Against, Auxiliary: t.Auxiliary, Version: t.Version,
	}
	if c.Parts = r[t.partTexts]; c.Parts == nil {
		parts, err := t.parse()
		if err != nil {
			return c, err
		}
		c.Parts = &Parts{parts, t.partTexts}
		r[t.partTexts] = c.Parts
	}
	if t.Series != "" {
		if c.Series, err = series.ParseWindow(t.Series); err != nil {
			return c, err
		}
	}
	if c.Capacity.Spec, err = capacity.Parse(t.Capacity); err != nil {
		return c, err
	}
	c.Sizes, err = capacity.ParseMode(t.Sizes)
	return c, err
}

// String says which cell it is, for errors and progress.
func (c Cell) String() string {
	s := fmt.Sprintf("%s at %s on %s", c.Name(), c.Capacity, c.TraceName())
	if c.Axes != "" {
		s += ", " + c.Axes
	}
	if c.Seed != 0 {
		s += fmt.Sprintf(", seed %d", c.Seed)
	}
	return s
}

// Name returns the label or, without one, the policy.
func (c Cell) Name() string { return cmp.Or(c.Label, c.Parts.texts.Policy) }

// TraceName returns the workload's name or, without one, its first file or its generator.
func (c Cell) TraceName() string {
	switch {
	case c.Workload.Name != "":
		return c.Workload.Name
	case len(c.Workload.Files) > 0:
		return c.Workload.Files[0]
	}
	return c.Workload.Generator
}

// Dim returns the cell's place on a dimension, as in its record.
func (c *Cell) Dim(name string) (records.Value, bool) {
	rec := c.names()
	return rec.Dim(name)
}

// names returns a record that contains only the cell's places.
func (c *Cell) names() records.Record {
	rec := records.Record{Trace: c.Workload.Name, Policy: c.Parts.Policy.Entry.Name, Label: c.Label,
		CapacityText: c.Capacity.String(), Seed: c.Seed, Axes: c.Axes, By: c.Workload.By}
	c.Parts.Name(&rec)
	return rec
}
