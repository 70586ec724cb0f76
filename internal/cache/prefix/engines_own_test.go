package prefix_test

import (
	"bufio"
	"encoding/json"
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
	"github.com/cachesim/cachesim/internal/cache/prefix"
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
func engineChats(rng *rand.Rand, page int, strips bool) (chats []chat, w engineWorkload) {
	chats = randomChats(rng, 50, page, ownWords, strips)
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
	reused, evicted, differ := int64(0), int64(0), 0
	seeds := brief.Of[uint64](1000, 100)
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(seed, 49))
		const page = 16
		stated := seed%2 == 0
		chats, w := engineChats(rng, page, stated)
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
			reused += got
		}
		evicted += n.Evictions
	}
	if reused == 0 || evicted == 0 {
		t.Errorf("%d tokens used again, %d evictions: nothing is tested of one", reused, evicted)
	}
	t.Logf("without copies, %d prompts of %d workloads differ", differ, seeds)
}
