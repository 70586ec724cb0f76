package prefix_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/cachesim/cachesim/internal/base/llm"
	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/interpreter"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/allocate"
	"github.com/cachesim/cachesim/internal/cache/prefix"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/prompts"
)

// engineWorkload is what the scripts in testdata/engines replay: prompts with their answers, in tokens, and in which
// order they begin (i) and end (-1-i).
type engineWorkload struct {
	Page    int        `json:"page"`
	Blocks  int        `json:"blocks"`
	Windows []int      `json:"windows"` // of groups of layers, in tokens; 0 for layers that attend to all
	Prompts [][2][]int `json:"prompts"`
	Events  []int      `json:"events"`

	Policy     map[string]any `json:"policy,omitempty"`
	Priorities []int32        `json:"priorities,omitempty"`
	States     map[string]int `json:"states,omitempty"`

	Quotas  *engineQuotas `json:"quotas,omitempty"`
	Salts   []string      `json:"salts,omitempty"`   // per prompt
	Seconds []int64       `json:"seconds,omitempty"` // per prompt: when it comes
}

type engineQuotas struct {
	Limits    map[string]int64 `json:"limits"` // chunks
	Watermark float64          `json:"watermark"`
	Ratio     float64          `json:"ratio"`
}

// withEngine calls f with a function that replays workloads through the own code of an engine, and returns how many
// tokens each prompt found. Without the engine the test is skipped: `make engines` brings it, and needs no GPU.
func withEngine(t *testing.T, engine string) (replay func(engineWorkload) []int64) {
	t.Helper()
	folder := os.Getenv("CACHESIM_ENGINES")
	if _, err := os.Stat(filepath.Join(folder, engine)); folder == "" || err != nil {
		t.Skipf("needs the Python package %s, unpacked: make engines runs this test", engine)
	}
	script := filepath.Join("testdata", "engines", engine+"_replay.py")
	cmd := exec.Command(interpreter.Python(t, "json"), script, folder)
	cmd.Stderr, cmd.Env = os.Stderr, append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	in, out := must.Get(cmd.StdinPipe())(t), must.Get(cmd.StdoutPipe())(t)
	must.Do(t, cmd.Start())
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	requests, answers := json.NewEncoder(in), json.NewDecoder(bufio.NewReader(out))
	return func(w engineWorkload) (hits []int64) {
		t.Helper()
		must.Do(t, requests.Encode(w))
		must.Do(t, answers.Decode(&hits))
		return hits
	}
}

// engineChats draws conversations that run side by side, in a pool that has room for those that run at a time. With
// strips, some turns drop the answer before.
func engineChats(rng *rand.Rand, page, words int, strips bool) (chats []chat, w engineWorkload) {
	chats = randomChats(rng, 50, page, words, strips)
	running, most, often := map[int]int{}, 0, 1+rng.IntN(3)
	for i, c := range chats {
		w.Prompts = append(w.Prompts, [2][]int{c.prompt, c.answer})
		w.Events = append(w.Events, i)
		running[i] = (len(c.written()) + page - 1) / page
		held := 0
		for _, blocks := range running {
			held += blocks
		}
		most = max(most, held)
		for k := range i + 1 {
			if _, runs := running[k]; runs && rng.IntN(often) == 0 {
				w.Events = append(w.Events, -1-k)
				delete(running, k)
			}
		}
	}
	w.Page, w.Blocks = page, most+rng.IntN(1+most)
	return chats, w
}

// TestVLLM: vLLM's own KVCacheManager finds the same tokens of each prompt, with answers that decoding writes token by
// token, forks, retries, prompts that run side by side, and layers with windows. The policy vllm keeps a block once
// that is computed twice, so that it may find a block more where vLLM's second copy has evicted another one.
func TestVLLM(t *testing.T) {
	replay := withEngine(t, "vllm")
	var all replayed
	differ := 0
	seeds := brief.Of[uint64](1000, 100)
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(seed, 49))
		const page = 16
		stated := seed%2 == 0
		chats, w := engineChats(rng, page, ownWords, stated)
		pool := llm.Pool{Tokens: page}
		for range rng.IntN(3) {
			w.Windows = append(w.Windows, 2+rng.IntN(10*page))
		}
		slices.Sort(w.Windows)
		for _, window := range w.Windows {
			pool.Groups = append(pool.Groups, llm.Group{Window: window, Count: 1})
		}
		pool.Groups, w.Windows = append(pool.Groups, llm.Group{Count: 1}), append(w.Windows, 0)
		w.Blocks *= len(w.Windows)
		want := replay(w)
		tr := traceOfChats(t, chats, page, stated, seed%4 < 2, prompts.AnswersKept)
		c := configOf(t, tr, "vllm", w.Blocks)
		inGroups, alone := prefix.NewInGroups(c, pool, w.Blocks), must.Get(prefix.New(c))(t)
		var n, more cache.Counts
		for _, event := range w.Events {
			if event < 0 {
				inGroups.Finish(-1 - event)
				alone.Finish(-1 - event)
				continue
			}
			got := inGroups.Begin(event, &n)
			if got != want[event] {
				t.Fatalf("seed %d, %d blocks, windows %d: prompt %d finds %d tokens, vLLM's %d", seed, w.Blocks, w.Windows, event,
					got, want[event])
			}
			if alone.Begin(event, &more) != got && len(w.Windows) == 1 {
				differ++
			}
			all.reused += got
		}
		all.evicted += n.Evictions
	}
	all.check(t)
	t.Logf("without copies, %d prompts of %d workloads differ", differ, seeds)
}

// TestSGLang: SGLang's own UnifiedRadixCache finds the same tokens of each prompt, by every rule of eviction, with
// answers that are inserted when their prompts end, forks, retries, and prompts that run side by side. No prompt comes
// with an answer that is not complete.
func TestSGLang(t *testing.T) {
	replay := withEngine(t, "sglang")
	var all replayed
	for seed := range brief.Of[uint64](1000, 100) {
		rng := rand.New(rand.NewPCG(seed, 50))
		page := []int{1, 16, 3}[seed%3]
		w, tr, policy := sglangWorkload(t, rng, seed, page)
		want, ours := replay(w), newEngine(t, tr, policy, w.Blocks)
		all.compare(t, w, want, ours, fmt.Sprintf("seed %d, %s", seed, policy))
	}
	all.check(t)
}

// replayed is what several workloads had in common with an engine.
type replayed struct{ reused, evicted int64 }

// compare makes sure that a cache finds the same tokens of each prompt of a workload as SGLang does.
func (r *replayed) compare(t *testing.T, w engineWorkload, want []int64, ours cache.Running, what string) {
	t.Helper()
	var n cache.Counts
	for _, event := range w.Events {
		if event < 0 {
			ours.Finish(-1 - event)
			continue
		}
		if got := ours.Begin(event, &n); got != want[event] {
			t.Fatalf("%s, %d pages of %d: prompt %d finds %d tokens, SGLang's %d", what, w.Blocks, w.Page, event, got,
				want[event])
		}
		r.reused += want[event]
	}
	r.evicted += n.Evictions
}

// check makes sure that the workloads had hits and evictions.
func (r *replayed) check(t *testing.T) {
	t.Helper()
	if r.reused == 0 || r.evicted == 0 {
		t.Errorf("%d tokens used again, %d evictions: nothing is tested of one", r.reused, r.evicted)
	}
}

// sglangWorkload draws a workload for one of SGLang's rules, with the trace of it and our policy.
func sglangWorkload(t *testing.T, rng *rand.Rand, seed uint64, page int) (w engineWorkload, tr *traces.Trace,
	policy string) {
	names := []string{"lru", "lfu", "fifo", "slru", "priority", "mru", "filo", "tlru"}
	stated, name := seed%2 == 0, names[seed/6%uint64(len(names))]
	chats, w := engineChats(rng, page, ownWords, stated)
	w.Policy = map[string]any{"name": name}
	policy = "sglang-" + name
	if name == "tlru" {
		estimate := rng.IntN(3 * page)
		threshold := estimate + 1 + rng.IntN(8*page)
		w.Policy["threshold"], w.Policy["next_prompt_estimate"] = threshold, estimate
		policy = fmt.Sprintf("sglang-tlru(threshold=%d,next-prompt-estimate=%d)", threshold, estimate)
	}
	tr = traceOfChats(t, chats, page, stated, seed%4 < 2, prompts.AnswersKept)
	if name == "priority" {
		for range chats {
			w.Priorities = append(w.Priorities, int32(rng.IntN(3)))
		}
		prompts.Of(tr.Kind).Priorities = w.Priorities
	}
	w.Events = afterAnswers(chats, w.Events, page)
	return w, tr, policy
}

// TestSGLangStates: likewise with the states of a model, in slots of their own.
func TestSGLangStates(t *testing.T) {
	replay := withEngine(t, "sglang")
	var all replayed
	for seed := range brief.Of[uint64](1000, 100) {
		rng := rand.New(rand.NewPCG(seed, 52))
		page := []int{1, 16, 3}[seed%3]
		w, tr, policy := sglangWorkload(t, rng, seed, page)
		running, most := 0, 0
		for _, event := range w.Events {
			if running++; event < 0 {
				running -= 2
			}
			most = max(most, running)
		}
		grid := page * (1 + rng.IntN(3))
		states := prefix.States{Slots: 4*most + 1 + rng.IntN(20), Grid: grid, Interval: grid * (1 + rng.IntN(2)),
			Chunk: grid * (2 + rng.IntN(20))}
		w.States = map[string]int{"slots": states.Slots, "grid": grid, "interval": states.Interval, "chunk": states.Chunk}
		want, ours := replay(w), prefix.NewStated(configOf(t, tr, policy, w.Blocks), states)
		all.compare(t, w, want, ours, fmt.Sprintf("seed %d, %s, %+v", seed, policy, states))
	}
	all.check(t)
}

// afterAnswers moves the end of a prompt before the first one that begins with its answer.
func afterAnswers(chats []chat, events []int, page int) (ordered []int) {
	running := map[int]bool{}
	end := func(prompt int) {
		if running[prompt] {
			ordered = append(ordered, -1-prompt)
			delete(running, prompt)
		}
	}
	for _, event := range events {
		if event < 0 {
			end(-1 - event)
			continue
		}
		for before := range event {
			if ofAnswer(chats[before], chats[event].prompt, page) {
				end(before)
			}
		}
		ordered, running[event] = append(ordered, event), true
	}
	return ordered
}

// ofAnswer reports whether a prompt begins with a page that has a token of an answer.
func ofAnswer(c chat, prompt []int, page int) bool {
	written, same := c.written(), 0
	for same < min(len(written), len(prompt)) && written[same] == prompt[same] {
		same++
	}
	return same/page > len(c.prompt)/page
}

// TestLMCache: LMCache's own lookup and store find the same tokens of each prompt, by every rule of eviction, with
// answers that it stores (save_decode_cache), or without.
func TestLMCache(t *testing.T) {
	replay := withEngine(t, "lmcache")
	names := []string{"lru", "lfu", "fifo", "mru"}
	var all replayed
	for seed := range brief.Of[uint64](1000, 100) {
		rng := rand.New(rand.NewPCG(seed, 51))
		page, words, name := []int{1, 16, 3}[seed%3], []int{2, ownWords}[seed/3%2], names[seed/6%4]
		chats, w := engineChats(rng, page, words, true)
		saves := rng.IntN(2) == 0
		w.Policy = map[string]any{"name": name, "save_decode_cache": saves}
		if rng.IntN(4) == 0 { // fewer than some prompts have
			w.Blocks = 1 + rng.IntN(w.Blocks)
		}
		mode := prompts.AnswersOff
		if saves {
			mode = prompts.AnswersKept
		}
		tr := traceOfChats(t, chats, page, true, seed%4 < 2, mode)
		want, ours := replay(w), newEngine(t, tr, "lmcache-"+name, w.Blocks)
		var n cache.Counts
		for i := range chats {
			if got := ours.Begin(i, &n); got != want[i] {
				t.Fatalf("seed %d, lmcache-%s, answers %v, %d chunks of %d: prompt %d finds %d tokens, LMCache's %d", seed, name,
					saves, w.Blocks, page, i, got, want[i])
			}
			ours.Finish(i)
			all.reused += want[i]
		}
		all.evicted += n.Evictions
	}
	all.check(t)
}

// TestLMCacheQuotas: LMCache's own IsolatedLRU, QuotaManager and controller find the same tokens of each prompt of
// several salts, which exceed their quotas for a second, with answers that it stores, or without. Of a salt without a
// quota nothing outlives a second.
func TestLMCacheQuotas(t *testing.T) {
	replay := withEngine(t, "lmcache")
	var all replayed
	for seed := range brief.Of[uint64](1000, 100) {
		rng := rand.New(rand.NewPCG(seed, 53))
		page, words := []int{1, 16, 3}[seed%3], []int{2, ownWords}[seed/3%2]
		chats, w := engineChats(rng, page, words, true)
		saves := rng.IntN(2) == 0
		w.Policy = map[string]any{"name": "LRU", "save_decode_cache": saves}
		sweep := allocate.Sweep{Every: 1e9, Watermark: rng.Float64(), Ratio: rng.Float64()}
		w.Quotas = &engineQuotas{map[string]int64{"a": 1 + rng.Int64N(int64(w.Blocks)), "b": 1 + rng.Int64N(20)},
			sweep.Watermark, sweep.Ratio}
		mode := prompts.AnswersOff
		if saves {
			mode = prompts.AnswersKept
		}
		tr := traceOfChats(t, chats, page, true, seed%4 < 2, mode)
		tr.Times = make([]int64, len(tr.Objects))
		ours, at := map[string]*prefix.Cache{}, int64(0)
		for _, salt := range []string{"a", "b", "none"} {
			c := configOf(t, tr, "lmcache-lru", int(w.Quotas.Limits[salt]))
			c.Sweep = &sweep
			ours[salt] = must.Get(prefix.New(c))(t)
		}
		for i := range chats {
			at += rng.Int64N(2) * rng.Int64N(3e9)
			_, first := tr.Group(i)
			tr.Times[first] = at
			w.Salts = append(w.Salts, []string{"a", "b", "none"}[rng.IntN(3)])
			w.Seconds = append(w.Seconds, at/1e9)
		}
		var n cache.Counts
		for i, want := range replay(w) {
			if got := ours[w.Salts[i]].Begin(i, &n); got != want {
				t.Fatalf("seed %d, answers %v, %+v, %+v: prompt %d of %s finds %d tokens, LMCache's %d", seed, saves, *w.Quotas,
					sweep, i, w.Salts[i], got, want)
			}
			all.reused += want
		}
		all.evicted += n.Evictions
	}
	all.check(t)
}
