package sweep

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/base/jsonlines"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
	"github.com/cachesim/cachesim/internal/experiment"
)

func TestSharesAreAWholePlan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var cells []experiment.Cell
		for range rapid.IntRange(0, 60).Draw(t, "cells") {
			trace := fmt.Sprintf("zipf(seed=%d)", rapid.IntRange(0, 5).Draw(t, "trace"))
			cells = append(cells, newCell(trace, "lru", fmt.Sprint(rapid.IntRange(1, 20).Draw(t, "capacity"))))
		}
		cells = numbered(cells...)
		n := rapid.IntRange(1, 12).Draw(t, "shards")
		once := experiment.WithoutRepetitions(cells)
		seen, loads := map[string]bool{}, 0
		for i := range n {
			share := Shard{i, n}.Cells(cells)
			if len(share) < len(once)/n || len(share) > (len(once)+n-1)/n {
				t.Fatalf("share %d/%d of %d cells has %d", i, n, len(once), len(share))
			}
			for _, c := range share {
				if seen[c.Hash] {
					t.Fatalf("%s is in two shares", c)
				}
				seen[c.Hash] = true
			}
			loads += len(experiment.ByWorkload(share))
		}
		if len(seen) != len(once) {
			t.Fatalf("%d of %d cells are in a share", len(seen), len(once))
		}
		if limit := len(experiment.ByWorkload(once)) + n - 1; loads > limit {
			t.Fatalf("the shares load traces %d times, want at most %d", loads, limit)
		}
	})
}

func TestParseShard(t *testing.T) {
	if s, err := ParseShard("3/16"); err != nil || s != (Shard{3, 16}) {
		t.Errorf("3/16: %v, %v", s, err)
	}
	for _, text := range []string{"", "1", "/", "1/", "/2", "2/2", "-1/2", "0/0", "0/-1", "a/2", "1/2/3", "1.0/2",
		" 1/2"} {
		if s, err := ParseShard(text); err == nil {
			t.Errorf("%q: %v, want an error", text, s)
		}
	}
}

func TestShardFromEnvironment(t *testing.T) {
	for _, test := range []struct{ environment, want string }{
		{"SLURM_ARRAY_TASK_ID=2 SLURM_ARRAY_TASK_COUNT=4 SLURM_ARRAY_TASK_MIN=0", "2/4"},
		{"SLURM_ARRAY_TASK_ID=2 SLURM_ARRAY_TASK_COUNT=4", "2/4"},
		{"SLURM_ARRAY_TASK_ID=4 SLURM_ARRAY_TASK_COUNT=4 SLURM_ARRAY_TASK_MIN=1", "3/4"},
		{"SLURM_ARRAY_TASK_ID=2 SLURM_ARRAY_TASK_COUNT=1 SLURM_ARRAY_TASK_MIN=2 CACHESIM_SHARDS=4", "2/4"},
		{"JOB_COMPLETION_INDEX=0 CACHESIM_SHARDS=3", "0/3"},
		{"JOB_COMPLETION_INDEX=0 CACHESIM_SHARDS=3 SLURM_ARRAY_TASK_ID=", "0/3"},
		{"", "no shard is given"},
		{"CACHESIM_SHARDS=3", "no shard is given"},
		{"JOB_COMPLETION_INDEX=0", "but not CACHESIM_SHARDS"},
		{"JOB_COMPLETION_INDEX=3 CACHESIM_SHARDS=3", "shard 3 of 3"},
		{"JOB_COMPLETION_INDEX=x CACHESIM_SHARDS=3", `JOB_COMPLETION_INDEX is "x"`},
		{"JOB_COMPLETION_INDEX=0 CACHESIM_SHARDS=0", "shard 0 of 0"},
		{"SLURM_ARRAY_TASK_ID=0", "shard 0 of 0"},
		{"SLURM_ARRAY_TASK_ID=1 SLURM_ARRAY_TASK_COUNT=-4", `SLURM_ARRAY_TASK_COUNT is "-4"`},
		{"SLURM_ARRAY_TASK_ID=1 SLURM_ARRAY_TASK_MIN=2 SLURM_ARRAY_TASK_COUNT=2", "shard -1 of 2"},
		// If an array skips tasks (only 0 and 2, for example), its count is not the number of shards.
		{"SLURM_ARRAY_TASK_ID=2 SLURM_ARRAY_TASK_COUNT=2 SLURM_ARRAY_TASK_MIN=0", "shard 2 of 2"},
	} {
		variables := map[string]string{}
		for field := range strings.FieldsSeq(test.environment) {
			name, value, _ := strings.Cut(field, "=")
			variables[name] = value
		}
		shard, err := ShardFromEnvironment(func(name string) (string, bool) {
			value, ok := variables[name]
			return value,
				ok
		})
		if got := fmt.Sprint(shard); err == nil && got != test.want || err != nil &&
			!strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %s, %v; want %s", test.environment, got, err, test.want)
		}
	}
}

func TestPlansAreReadBackAndChangesFound(t *testing.T) {
	dir := t.TempDir()
	cells := smallGrid()
	must.Do(t, WritePlan(dir, cells, []byte("experiment")))
	read := must.Get(ReadPlan(dir))(t)
	if !SamePlan(read, cells) || fmt.Sprint(read) != fmt.Sprint(cells) {
		t.Error("the plan that is read is not the one that was written")
	}
	if SamePlan(read, cells[1:]) || SamePlan(slices.Concat(cells[1:], cells[:1]), cells) {
		t.Error("different plans are said to be the same")
	}
	if PlanDigest(read) != PlanDigest(cells) || PlanDigest(cells) == PlanDigest(cells[1:]) {
		t.Error("the digest does not tell plans apart")
	}
	path := filepath.Join(dir, planName)
	text := must.Get(os.ReadFile(path))(t)
	opened := must.Get(jsonlines.Unseal(text))(t)
	sealed := func(old, new string) string {
		return string(jsonlines.Seal([]byte(strings.Replace(string(opened), old, new, 1))))
	}
	lines := strings.SplitAfter(string(opened), "\n")
	for name, changed := range map[string]string{
		"capacity":      strings.Replace(string(text), `"capacity":"5"`, `"capacity":"6"`, 1),
		"cut off":       string(text[:len(text)-10]),
		"no JSON":       "plan",
		"without end":   strings.Join(lines[:len(lines)-2], ""),
		"another cell":  sealed(`"capacity":"5"`, `"capacity":"6"`),
		"order":         sealed(`"number":0`, `"number":7`),
		"key":           sealed(`"number":0`, `"number":0,"more":1`),
		"a cell less":   sealed(lines[len(lines)-3], ""),
		"number in end": sealed(`{"cells":`, `{"cells":1`),
	} {
		must.Do(t, os.WriteFile(path, []byte(changed), 0o644))
		must.NotGet(ReadPlan(dir))(t, "write it again", name)
	}
}
