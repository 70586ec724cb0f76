package models

import (
	"context"
	"fmt"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/clock/prefill"
)

// gpuMemory is the tier in the memory of the GPUs, from which nothing is loaded.
const gpuMemory = "hbm"

// tierSpeeds are the bandwidths and latencies of tiers that keys and values are loaded from. Their sources, and which
// of them are assumptions, are in docs/models.md.
var tierSpeeds = []struct {
	name, doc string
	gbs, us   float64 // 10^9 bytes per second, 0: the hardware's; microseconds
}{
	{"memory", "over PCI Express", 0, 10},
	{"host", "over PCI Express", 0, 10},
	{"flash", "an NVMe disk", 6.9, 100},
	{"ssd", "an NVMe disk", 6.9, 100},
	{"disk", "a rotating disk", 0.27, 12_000},
	{"remote", "100 Gbit/s", 12.5, 500},
}

// tierParams are the parameters of prefill for a cache with tiers.
func tierParams() (ps []params.Param) {
	for _, s := range tierSpeeds {
		doc := "bandwidth of the tier " + s.name + ", in 10^9 bytes per second"
		if s.gbs == 0 {
			doc += "; 0: the hardware's"
		}
		ps = append(ps, params.Param{Name: s.name + "_gbs", Default: s.gbs, Min: 0, Max: 1e9, Doc: doc},
			params.Param{Name: s.name + "_us", Default: s.us, Min: 0, Max: 1e12,
				Doc: "latency of a load from the tier " + s.name + ", in microseconds"})
	}
	return append(ps,
		params.Param{Name: "prefetch", Default: false, Doc: "with tiers: loads begin when a prompt arrives, while it " +
			"waits, instead of with its prefill"},
		params.Param{Name: "overlap", Default: false, Doc: "with tiers: a prefill computes while it loads, layer by layer"},
		linkParam)
}

// linkParam says over how many links nodes load from the tiers that they share.
var linkParam = params.Param{Name: "shared_link", Default: oneLink, Choices: []string{oneLink, linkEach},
	Doc: "with nodes that share tiers: one, all nodes load from a shared tier over one link with its bandwidth; each, " +
		"every node has a link of its own to it"}

const (
	oneLink  = "one"
	linkEach = "each"
)

// Metrics of loads from tiers. The label is the tier's name.
var (
	BreakEven = metric.Metric{Name: "break_even_tokens", Unit: metric.Count, Labels: "tier", Merge: metric.Max,
		Better: metric.Lower,
		Column: metric.Column{At: 47, Head: "breaks even", Labels: "memory host flash ssd disk remote", Weight: 40},
		Doc: "hits of at least this many tokens are loaded from a tier in less time than they are computed in, by an idle " +
			"link; absent if loading is slower at any length"}
	LoadedBytes = metric.Metric{Name: "loaded_bytes", Unit: metric.Bytes, Labels: "tier",
		Doc: "bytes that were read from a tier, for hits and, of prompts, ahead of them; of keys and values, by the " +
			"model's bytes per token"}
	LoadBandwidth = metric.Metric{Name: "load_gbs", Unit: metric.GigabytesPerSecond, Digits: 3, Labels: "tier",
		Merge: metric.Apart, Doc: "loaded_bytes per second of the model's clock, of all nodes together"}
	LoadUtilisation = metric.Metric{Name: "load_utilisation", Unit: metric.Share, Digits: 2, Labels: "tier",
		Merge: metric.Apart, Column: metric.Column{At: 46, Head: "link", Labels: "memory host flash ssd disk remote",
			Weight: 30},
		Doc: "load_gbs as a share of the tier's bandwidth; of that of all links, if several nodes have one each"}
	LoadWait = metric.Metric{Name: "load_wait_ms", Unit: metric.Milliseconds, Digits: 3, Better: metric.Lower,
		Merge: metric.Apart, Column: metric.Column{At: 45, Head: "load ms", Weight: 48},
		Doc: "mean time that a prompt's prefill waits for loads from lower tiers and computes nothing"}
	tierMetrics = []metric.Metric{BreakEven, LoadedBytes, LoadBandwidth, LoadUtilisation, LoadWait}
)

// tieredCache is a cache whose blocks are in several tiers. It is an interface because models of time import no cache.
type tieredCache interface {
	promptCache
	// Tiers returns the names of the tiers.
	Tiers() []string
	// Peek and Loads are as in prefill.Tiered.
	Peek(prompt int, tokens []int64) (inFirst, blocks int)
	Loads(from, to int, tokens []int64)
	// SharedFrom returns the first tier that all nodes share, as many as there are tiers if none.
	SharedFrom() int
}

// tieredReplay is a cache with tiers in the form that package prefill needs.
type tieredReplay struct {
	*prefillReplay
	tieredCache
}

func (r tieredReplay) Begin(i int) prefill.Hit { return r.prefillReplay.Begin(i) }
func (r tieredReplay) Finish(i int)            { r.tieredCache.Finish(i) }

// speedsOf returns the speeds of tiers.
func speedsOf(names []string, v params.Values, c prefill.Config) (tiers []prefill.Tier, err error) {
	for _, name := range names {
		if name == gpuMemory {
			tiers = append(tiers, prefill.Tier{})
			continue
		}
		t := prefill.Tier{Latency: microseconds(v.Float(name + "_us")), Bandwidth: 1e9 * v.Float(name+"_gbs")}
		if t.Bandwidth == 0 {
			t.Bandwidth = c.Host
		}
		if t.Bandwidth == 0 {
			return nil, fmt.Errorf("the rate from the host of hardware=%s is not published; add %s_gbs", v.Text("hardware"),
				name)
		}
		tiers = append(tiers, t)
	}
	return tiers, nil
}

// runTiers serves the prompts from a cache with tiers.
func runTiers(ctx context.Context, r tieredReplay, p prefill.Prompts, c prefill.Config) ([]prefill.Served,
	metric.Values, error) {
	var v metric.Values
	names, given := r.Tiers(), r.Params
	tiers, err := speedsOf(names, given, c)
	if err != nil {
		return nil, v, fmt.Errorf("model prefill: %w", err)
	}
	first, shared := r.firstCounted(), r.SharedFrom()
	if shared == len(tiers) {
		if err := params.NoEffect([]params.Param{linkParam}, given, "tiers that are not shared",
			"--nodes 8 --cache 'tiers(host=10x,remote=100x,shared=remote)'"); err != nil {
			return nil, v, fmt.Errorf("model prefill: %w", err)
		}
	}
	if given.Text(linkParam.Name) == linkEach {
		shared = len(tiers)
	}
	all, loads, err := prefill.RunTiered(ctx, p, r, c, prefill.LoadConfig{Tiers: tiers, InQueue: given.Bool("prefetch"),
		Overlap: given.Bool("overlap"), From: first, Shared: shared})
	if err != nil {
		return nil, v, fmt.Errorf("model prefill: %w", err)
	}
	begin, end := all[first].Arrived, all[first].Done
	for _, s := range all[first:] {
		begin, end = min(begin, s.Arrived), max(end, s.Done)
	}
	span := (end - begin).Seconds()
	v.Set(LoadWait, milliseconds(loads.Waited)/float64(len(all)-first))
	for i, t := range tiers {
		if t.Bandwidth == 0 {
			continue
		}
		v.SetNamedInt(LoadedBytes.Of(names[i]), loads.Bytes[i])
		if span > 0 {
			v.SetNamed(LoadBandwidth.Of(names[i]), float64(loads.Bytes[i])/span/1e9)
			v.SetNamed(LoadUtilisation.Of(names[i]), float64(loads.Bytes[i])/span/t.Bandwidth/float64(loads.Links[i]))
		}
		if tokens, ok := c.BreakEven(t); ok {
			v.SetNamedInt(BreakEven.Of(names[i]), int64(tokens))
		}
	}
	return all, v, nil
}
