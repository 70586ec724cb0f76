package hlem

import "errors"

// Costs are the constants of the time that a request takes on a node, after HLEM (arXiv 2605.04450). The paper's
// formulas are lost; these are calibrated on what it states, as docs/models.md explains.
type Costs struct {
	Layers   int     // of the transformer: 3 for ranking, 6 for retrieval (section V-A)
	Width    int     // of the embeddings and of each layer
	FLOPS    float64 // that a GPU reaches, per second
	PCIe     float64 // bytes per second from the host to one GPU
	Remote   float64 // what a row from another node's host costs, as a multiple of a local one
	RowBytes int     // of one row of an embedding table
	Base     float64 // seconds of a request in addition to EMB and KV
	HitShare float64 // share of the computation that is left after a KV hit: new items and candidates
	Scale    float64 // of all times, the same for every workload and system
}

// DefaultCosts returns the costs of one A100 behind PCIe 4.0 with 6 layers.
func DefaultCosts() Costs {
	return Costs{Layers: 6, Width: 512, FLOPS: 0.35 * 312e12, PCIe: 25e9, Remote: 1.2, RowBytes: 2048, Base: 1e-3,
		HitShare: 0.1, Scale: 0.8}
}

// Check rejects constants with which no time can be computed.
func (c Costs) Check() error {
	switch {
	case c.Layers < 1 || c.Width < 1 || c.RowBytes < 1:
		return errors.New("layers, width and bytes of a row must be at least 1")
	case !(c.FLOPS > 0) || !(c.PCIe > 0) || !(c.Scale > 0):
		return errors.New("flops, bandwidth and scale must be above 0")
	case !(c.Remote >= 1) || !(c.Base >= 0) || !(c.HitShare >= 0 && c.HitShare <= 1):
		return errors.New("a remote row costs at least 1, the base at least 0, and a share is from 0 to 1")
	}
	return nil
}

// Compute returns the seconds of the forward pass over a sequence of tokens. A KV hit leaves only HitShare of it.
func (c Costs) Compute(tokens float64, hit bool) float64 {
	width := float64(c.Width)
	seconds := c.Scale * float64(c.Layers) * (float64(8*tokens*width*width) + float64(4*tokens*tokens*width)) /
		c.FLOPS
	if hit {
		return float64(seconds * c.HitShare)
	}
	return seconds
}

// Transfer returns the seconds of the transfer of missing rows at a bandwidth in bytes per second, the remote ones
// among them over the network as well.
func (c Costs) Transfer(rows, remote, bandwidth float64) float64 {
	return c.Scale * (float64(rows) + float64((c.Remote-1)*remote)) * float64(c.RowBytes) / bandwidth
}

// Overhead returns the seconds that every request takes.
func (c Costs) Overhead() float64 { return float64(c.Scale * c.Base) }

// UserBytes returns the bytes of the keys and values of a sequence: two vectors of two bytes per layer and token.
func (c Costs) UserBytes(tokens int) int64 {
	return 2 * 2 * int64(c.Layers) * int64(c.Width) * int64(tokens)
}

// UserPages returns the pages of some bytes that the keys and values of a sequence need: all of them or none are
// resident.
func (c Costs) UserPages(tokens int, page int64) int64 {
	return (c.UserBytes(tokens) + page - 1) / page
}

// PageBytes returns the bytes of a shard, which is the unit of the memory of a node.
func (c Costs) PageBytes(shardRows int) int64 { return int64(shardRows) * int64(c.RowBytes) }
