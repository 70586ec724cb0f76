package sim_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/llm"
	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/policies/policytest"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/sim/simtest"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/prompts"
	"github.com/cachesim/cachesim/internal/traces/read"
)

// keyValues gives the blocks of a trace the bytes of a model.
func keyValues(t testing.TB, tr *traces.Trace, text string) {
	t.Helper()
	k := must.Get(must.Get(llm.Parse(text))(t).KeyValues())(t)
	must.Do(t, prompts.Of(tr.Kind).SetMemory(k, false, tr.Objects, tr.Groups))
}

// on resolves a capacity of prompts with known bytes.
func on(t testing.TB, tr *traces.Trace, text string) capacity.Capacity {
	t.Helper()
	return must.Get(must.Get(capacity.Parse(text))(t).On(tr, capacity.Blocks))(t)
}

// TestBlocksOfKnownBytes: a replay in bytes is the replay of as many blocks, and its record states bytes.
func TestBlocksOfKnownBytes(t *testing.T) {
	for seed := range brief.Of[uint64](6, 2) {
		tr := policytest.RandomPrompts(rand.New(rand.NewPCG(seed, 1)), 300, 8, 3)
		plain := *tr
		columns := *prompts.Of(tr.Kind)
		plain.Kind = &columns
		keyValues(t, tr, "layers=4,kv-heads=2,head-size=8") // 256 bytes, 4 KiB per block
		r, blocks := sim.NewReplayer(tr, sim.ReplayerOptions{Blocks: true}), sim.NewReplayer(&plain, sim.ReplayerOptions{})
		for _, policy := range []string{"lru", "s3fifo", "opt", "arc"} {
			for text, n := range map[string]int64{"100KiB": 25, "102399B": 24, "20": 20, "4KiB": 1} {
				c := simtest.Cell(t, policy, on(t, tr, text), "cache=prefix")
				if c.Capacity.Bytes || c.Capacity.Simulated != n {
					t.Fatalf("%s is %+v, want %d blocks", text, c.Capacity, n)
				}
				got := simtest.Replay(t, r, c)
				want := simtest.Replay(t, blocks, simtest.Cell(t, policy, capacity.Of(n, false), "cache=prefix"))
				if got.Int(metric.Hits) != want.Int(metric.Hits) || got.Int(metric.Evictions) != want.Int(metric.Evictions) {
					t.Errorf("%s at %s: %d hits, want %d", policy, text, got.Int(metric.Hits), want.Int(metric.Hits))
				}
				if got.CapacityUnit != records.Bytes || got.BlockBytes != 4096 || got.TokenBytes != 256 ||
					got.SimulatedCapacity != n || got.Int(metric.HitBytes) != 4096*got.Int(metric.Hits) ||
					got.Blocks.NewBytes[0]+got.Blocks.NewBytes[1] != 4096*int64(tr.NumObjects) {
					t.Errorf("%s at %s: %+v, blocks %+v", policy, text, got.Record, got.Blocks.Sum())
				}
				if bytes, ok := got.Footprint(); !ok || bytes != 4096*int64(tr.NumObjects) {
					t.Errorf("%s at %s: a footprint of %d bytes", policy, text, bytes)
				}
			}
		}
	}
}

// TestJoinedBlocks compares a cache with larger blocks with the same cache on the trace in such blocks: all values,
// blocks behind intervals, alone and in one pass, with and without known bytes.
func TestJoinedBlocks(t *testing.T) {
	for seed := range brief.Of[uint64](8, 3) {
		rng := rand.New(rand.NewPCG(seed, 4))
		tr := policytest.RandomPrompts(rng, 400, 12, 2)
		for i := range prompts.Of(tr.Kind).InputTokens {
			prompts.Of(tr.Kind).InputTokens[i] -= int32(rng.IntN(16))
		}
		room := capacity.Of(120, false)
		if seed%2 == 1 {
			keyValues(t, tr, "layers=4,kv-heads=2,head-size=8,window=40,windowed-layers=2")
			room = on(t, tr, "400KiB")
		}
		options := sim.ReplayerOptions{Blocks: true, Warmup: int(seed % 3 * 20)}
		r := sim.NewReplayer(tr, options)
		for _, tokens := range []int{32, 48, 128} {
			other := must.Get(tr.InBlocks(tokens))(t)
			there := capacity.Of(120*16/int64(tokens), false)
			if seed%2 == 1 {
				there = on(t, other, "400KiB")
			}
			direct := sim.NewReplayer(other, options)
			for _, policy := range []string{"lru", "s3fifo", "opt", "laru"} {
				kind := "prefix(block=" + itoa(tokens) + ")"
				c := simtest.Cell(t, policy, room, "cache="+kind, "predictor=oracle")
				must.Do(t, r.Check(c))
				got := simtest.Replay(t, r, c)
				want := simtest.Replay(t, direct, simtest.Cell(t, policy, there, "cache=prefix", "predictor=oracle"))
				if !reflect.DeepEqual(got.Values, want.Values) || got.SimulatedCapacity != want.SimulatedCapacity ||
					got.BlockBytes != want.BlockBytes || got.Capacity != room.Amount || got.Cache != kind {
					t.Fatalf("seed %d, %s, %s:\n%+v, on joined blocks\n%+v", seed, kind, policy, got.Record, want.Record)
				}
				if policy != "lru" {
					continue
				}
				c.OnePass = true
				twice := c
				twice.Capacity = capacity.Of(240, false)
				if seed%2 == 1 {
					twice.Capacity = on(t, tr, "800KiB")
				}
				jobs := r.Jobs([]sim.Cell{c, twice})
				if len(jobs) != 1 {
					t.Fatalf("%d passes for two capacities of lru in blocks of %d tokens", len(jobs), tokens)
				}
				pass := must.Get(r.ReplayJob(t.Context(), jobs[0]))(t)[0]
				if !reflect.DeepEqual(pass.Values, got.Values) {
					t.Fatalf("seed %d, %s: in one pass\n%+v, alone\n%+v", seed, kind, pass.Values, got.Values)
				}
			}
		}
	}
}

// TestJoinedBlocksInTiers compares tiers with larger blocks with the same tiers on the trace in such blocks, their
// sizes divided by hand: as many tokens or, where their bytes are known, as many bytes.
func TestJoinedBlocksInTiers(t *testing.T) {
	for seed := range brief.Of[uint64](6, 2) {
		rng := rand.New(rand.NewPCG(seed, 4))
		tr := policytest.RandomPrompts(rng, 400, 12, 2)
		known := seed%2 == 1
		if known {
			keyValues(t, tr, "layers=4,kv-heads=2,head-size=8,window=40,windowed-layers=2")
		}
		before := prompts.Of(tr.Kind)
		for _, tokens := range []int{16, 48, 128} {
			other := must.Get(tr.InBlocks(tokens))(t)
			columns := *prompts.Of(other.Kind)
			if columns.Unjoined != before {
				t.Fatalf("joined blocks are of %p, want %p", columns.Unjoined, before)
			}
			columns.Unjoined = nil // as if the file had such blocks
			other.Kind = &columns
			// blocks returns how many of the larger blocks have the tokens, or the bytes, of n blocks of the trace.
			blocks := func(n int) int {
				if known {
					return n * int(before.Memory.BlockBytes) / int(prompts.Of(other.Kind).Memory.BlockBytes)
				}
				return n * 16 / tokens
			}
			share := blocks(tr.NumObjects / 2)
			direct := sim.NewReplayer(other, sim.ReplayerOptions{})
			for _, mode := range []string{"exclusive", "inclusive", "write-through", "write-back"} {
				for _, policy := range []string{"lru", "opt"} {
					remote := "remote=3x," // which is smaller than the SSD
					if mode == "inclusive" {
						remote = ""
					}
					kind := fmt.Sprintf("tiers(hbm=40,host=60,ssd=%d,%smode=%s,block=%d)", tr.NumObjects/2, remote, mode, tokens)
					divided := fmt.Sprintf("tiers(hbm=%d,host=%d,ssd=%d,%smode=%s)", blocks(40), blocks(60), share, remote, mode)
					got := simtest.Replay(t, sim.NewReplayer(tr, sim.ReplayerOptions{}),
						simtest.Cell(t, policy, capacity.Of(40, false), "cache="+kind))
					want := simtest.Replay(t, direct,
						simtest.Cell(t, policy, capacity.Of(int64(blocks(40)), false), "cache="+divided))
					if !reflect.DeepEqual(got.Values, want.Values) ||
						got.Cache != strings.Replace(kind, "mode=exclusive,", "", 1) {
						t.Fatalf("seed %d, %s, %s:\n%+v, on joined blocks, %s\n%+v", seed, kind, policy, got.Record, divided,
							want.Record)
					}
				}
			}
		}
	}
}

// TestSizesOfTiersInJoinedBlocks: numbers, shares and bytes of tiers are those of the trace's blocks.
func TestSizesOfTiersInJoinedBlocks(t *testing.T) {
	tr := policytest.RandomPrompts(rand.New(rand.NewPCG(3, 3)), 400, 12, 2)
	residents := func(text string) float64 {
		c := simtest.Cell(t, "lru", capacity.Of(16, false), "cache=tiers("+text+",block=64)")
		r := sim.NewReplayer(tr, sim.ReplayerOptions{})
		must.Do(t, r.Check(c))
		got := simtest.Replay(t, r, c)
		if n := got.Values.Float(metric.Metric{Name: "tier_residents[hbm]"}); n != 4 {
			t.Errorf("%s: %v blocks of 64 tokens are in the first tier, want 4", text, n)
		}
		return got.Values.Float(metric.Metric{Name: "tier_residents[host]"})
	}
	if n := residents("host=43"); n != 10 {
		t.Errorf("a tier of 43 blocks of 16 tokens has %v of 64, want 10", n)
	}
	if n, want := residents("host=10%"), float64(tr.NumObjects/10/4); n != want {
		t.Errorf("a tier of a tenth of %d blocks of 16 tokens has %v of 64, want %v", tr.NumObjects, n, want)
	}
	keyValues(t, tr, "layers=4,kv-heads=2,head-size=8") // 256 bytes of a token
	c := simtest.Cell(t, "lru", on(t, tr, "64KiB"), "cache=tiers(host=160KiB,block=64)")
	got := simtest.Replay(t, sim.NewReplayer(tr, sim.ReplayerOptions{}), c)
	if n := got.Values.Float(metric.Metric{Name: "tier_residents[host]"}); n != 10 {
		t.Errorf("a tier of 160 KiB has %v blocks of 16 KiB", n)
	}
}

func itoa(n int) string { return capacity.Of(int64(n), false).String() }

// TestJoinedBlocksAreThoseOfLongerPieces: a log of texts that is cut into small blocks, which the cache joins, gives
// the hits of the log cut into large ones, apart from last, partial blocks, which the log leaves out.
func TestJoinedBlocksAreThoseOfLongerPieces(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 5))
	var lines, turns []string
	for range 200 {
		if len(turns) > 12 || rng.IntN(6) == 0 {
			turns = nil
		}
		words := make([]string, 16) // a token each
		for i := range words {
			words[i] = string(rune('a' + rng.IntN(2)))
		}
		turns = append(turns, strings.Join(words, " ")+" ")
		lines = append(lines, `{"timestamp": 1, "session_id": "s", "input": "`+strings.Join(turns, "")+
			`", "output_length": 1}`)
	}
	path := filepath.Join(t.TempDir(), "chat.jsonl")
	must.Do(t, os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600))
	load := func(format string) *traces.Trace {
		return must.Get(read.Load(t.Context(), []string{path}, read.Options{
			Selection: read.Selection{Format: format}}))(t)
	}
	small, large := load("chat:block=8"), load("chat:block=16")
	if small.NumObjects <= large.NumObjects {
		t.Fatalf("%d small blocks, %d large ones", small.NumObjects, large.NumObjects)
	}
	for _, tokens := range []int64{64, 320, 1600} {
		joined := simtest.Replay(t, sim.NewReplayer(small, sim.ReplayerOptions{}),
			simtest.Cell(t, "lru", capacity.Of(tokens/8, false), "cache=prefix(block=16)"))
		cut := simtest.Replay(t, sim.NewReplayer(large, sim.ReplayerOptions{}),
			simtest.Cell(t, "lru", capacity.Of(tokens/16, false), "cache=prefix"))
		if joined.Int(metric.Hits) == 0 || joined.Int(metric.Hits) != cut.Int(metric.Hits) {
			t.Errorf("%d tokens: %d hits in joined blocks, %d in blocks that were cut so", tokens, joined.Int(metric.Hits),
				cut.Int(metric.Hits))
		}
	}
}

func TestBlocksThatCannotBeJoined(t *testing.T) {
	tr := policytest.Prompts(16, "abcd", "abce")
	for _, test := range []struct {
		block, capacity int64
		want            string
	}{
		{24, 10, "a multiple of 16"},
		{8, 10, "cannot be divided"},
		{64, 3, "less room than a block of 64 tokens"},
	} {
		c := simtest.Cell(t, "lru", capacity.Of(test.capacity, false), "cache=prefix(block="+itoa(int(test.block))+")")
		err := sim.NewReplayer(tr, sim.ReplayerOptions{}).Check(c)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("blocks of %d at %d: %v, want an error with %q", test.block, test.capacity, err, test.want)
		}
	}
	c := simtest.Cell(t, "lru", capacity.Of(3, false), "cache=prefix(block=16)") // the trace's own
	must.Do(t, sim.NewReplayer(tr, sim.ReplayerOptions{}).Check(c))
}

// TestShareInJoinedBlocks: the share of a capacity is that of the blocks which the capacity counts, those of the trace,
// also where blocks have bytes.
func TestShareInJoinedBlocks(t *testing.T) {
	tr := policytest.RandomPrompts(rand.New(rand.NewPCG(2, 2)), 500, 12, 2)
	for _, mode := range []capacity.Mode{capacity.AsWritten, capacity.Blocks} {
		if mode == capacity.Blocks {
			keyValues(t, tr, "layers=4,kv-heads=2,head-size=8")
		}
		tenth := must.Get(must.Get(capacity.Parse("10%"))(t).On(tr, mode))(t)
		want := float64(tenth.Simulated) / float64(tr.NumObjects)
		for _, kind := range []string{"prefix", "prefix(block=64)", "tiers(host=2x,block=64)"} {
			c := simtest.Cell(t, "lru", tenth, "cache="+kind)
			rec := simtest.Replay(t, sim.NewReplayer(tr, sim.ReplayerOptions{}), c)
			if rec.CapacityShare == nil || *rec.CapacityShare != want {
				t.Errorf("%s, %s: share %v, want %v", kind, mode, *rec.CapacityShare, want)
			}
		}
	}
}

// The progress of a replay in larger blocks adds up to the trace's requests.
func TestProgressInJoinedBlocks(t *testing.T) {
	tr := policytest.RandomPrompts(rand.New(rand.NewPCG(2, 2)), 500, 12, 2)
	var served int64
	r := sim.NewReplayer(tr, sim.ReplayerOptions{Progress: func(n int64) { served += n }})
	simtest.Replay(t, r, simtest.Cell(t, "lru", capacity.Of(100, false), "cache=prefix(block=64)"))
	if served != int64(len(tr.Objects)) {
		t.Errorf("%d of %d requests", served, len(tr.Objects))
	}
}
