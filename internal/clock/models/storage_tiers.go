package models

import (
	"fmt"
	"slices"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/clock/storage"
)

// slowTiers are the tiers whose reads take more than the local time.
var slowTiers = []string{"flash", "ssd", "disk", "remote"}

// storageTierParams are the parameters of storage for a cache with tiers: those of prefill for the slow ones.
func storageTierParams() (ps []params.Param) {
	for _, p := range tierParams() {
		if slices.ContainsFunc(slowTiers, func(name string) bool { return p.Name == name+"_gbs" || p.Name == name+"_us" }) {
			ps = append(ps, p)
		}
	}
	return ps
}

// tieredObjects is a cache of objects with tiers. It is an interface because models of time import no cache.
type tieredObjects interface {
	Tiers() []string
	// HitIn returns the tier in which the last request hit.
	HitIn() int
}

// addTiers adds the tiers of the cache to the model, if it has any.
func addTiers(c Config, to *storage.Config) error {
	cache, ok := c.Cache.(tieredObjects)
	if !ok {
		if err := params.NoEffect(storageTierParams(), c.Params, "a cache without tiers",
			"--cache 'tiers(flash=10x)'"); err != nil {
			return fmt.Errorf("model storage: %w", err)
		}
		return nil
	}
	to.HitIn = cache.HitIn
	for _, name := range cache.Tiers() {
		t := storage.Tier{}
		if slices.Contains(slowTiers, name) {
			t.Latency, t.Bandwidth = microseconds(c.Params.Float(name+"_us")), 1e9*c.Params.Float(name+"_gbs")
		}
		to.Tiers = append(to.Tiers, t)
	}
	return nil
}

// addLoads adds what was read from the tiers.
func addLoads(v *metric.Values, cache any, c storage.Config, result *storage.Result) {
	tiered, ok := cache.(tieredObjects)
	if !ok {
		return
	}
	for i, name := range tiered.Tiers() {
		if c.Tiers[i].Bandwidth == 0 {
			continue
		}
		loaded := float64(result.Loaded[i])
		v.SetNamedInt(LoadedBytes.Of(name), result.Loaded[i])
		if result.Seconds > 0 {
			v.SetNamed(LoadBandwidth.Of(name), loaded/result.Seconds/1e9)
			v.SetNamed(LoadUtilisation.Of(name), loaded/result.Seconds/c.Tiers[i].Bandwidth)
		}
	}
}
