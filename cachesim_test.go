package cachesim_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/cachesim/cachesim"
	"github.com/cachesim/cachesim/internal/base/testing/brief"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/policytest"
)

// fifo evicts the object that was loaded first.
type fifo struct{ order []cachesim.Object }

func (p *fifo) Hit(cachesim.Request)      {}
func (p *fifo) Miss(cachesim.Request)     {}
func (p *fifo) Insert(r cachesim.Request) { p.order = append(p.order, r.Object) }

func (p *fifo) Victim(cachesim.Request) cachesim.Object {
	victim := p.order[0]
	p.order = p.order[1:]
	return victim
}

func (p *fifo) Remove(o cachesim.Object) {
	for i, other := range p.order {
		if other == o {
			p.order = append(p.order[:i], p.order[i+1:]...)
			return
		}
	}
}

func init() {
	cachesim.Register(cachesim.Entry{Name: "own-fifo", Summary: "evicts the object that was loaded first",
		Type: (*fifo)(nil), New: func(cachesim.Config) (cachesim.Policy, error) { return &fifo{}, nil }})
	cachesim.RegisterFormat(cachesim.Format{Name: "own-lines", Summary: "a key a line, behind an arrow",
		Detect: func(cachesim.Head, string) cachesim.Confidence { return cachesim.No },
		Open: func(src *cachesim.Source, _ cachesim.Values) (cachesim.Reader, cachesim.Fields, error) {
			return cachesim.ReadLines(src, func(line []byte, rec *cachesim.TraceRecord) error {
				key, ok := bytes.CutPrefix(line, []byte("-> "))
				if !ok {
					return fmt.Errorf("%.60q: want -> KEY", line)
				}
				*rec = cachesim.TraceRecord{}
				rec.SetKey(key)
				return nil
			}), cachesim.Fields{}, nil
		}})
}

func metric(t *testing.T, r *cachesim.Record, name string) float64 {
	t.Helper()
	x, ok := r.Metric(name)
	if !ok {
		t.Fatalf("%s has no %s", r.Label, name)
	}
	return x
}

// A policy of a program's own is replayed like those of the simulator: here, with the same results.
func TestRunWithOwnPolicy(t *testing.T) {
	records, err := cachesim.Run(context.Background(), "zipf(objects=500,requests=20000)", cachesim.Options{
		Policies: []string{"fifo", "own-fifo"}, Capacities: []string{"10", "10%"}, Optimum: true, Seed: 3,
	})
	must.Do(t, err)
	var names []string
	hits := map[string]float64{}
	for _, r := range records {
		names = append(names, fmt.Sprint(r.Label, " ", r.CapacityText))
		hits[fmt.Sprint(r.Label, " ", r.CapacityText)] = metric(t, &r, "hits")
		if metric(t, &r, "competitive_ratio") <= 1 {
			t.Errorf("%s has fewer misses than the optimum", r.Label)
		}
	}
	want := "fifo 10, own-fifo 10, fifo 10%, own-fifo 10%"
	if got := strings.Join(names, ", "); got != want {
		t.Errorf("records of %s, want %s", got, want)
	}
	for _, at := range []string{" 10", " 10%"} {
		if hits["fifo"+at] == 0 || hits["fifo"+at] != hits["own-fifo"+at] {
			t.Errorf("hits%s: fifo %v, own-fifo %v", at, hits["fifo"+at], hits["own-fifo"+at])
		}
	}
}

// textOf has what a record says of a replay.
func textOf(t *testing.T, r *cachesim.Record) string {
	t.Helper()
	return fmt.Sprint(r.Trace, r.TraceChecksum, r.ReadAs, r.Label, r.Capacity, r.CapacityText, metric(t, r, "misses"))
}

// What Run returns is what the command prints.
func TestRunIsTheCommand(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the program")
	}
	const trace = "testdata/demo.oracleGeneral.zst"
	records, err := cachesim.Run(context.Background(), trace, cachesim.Options{Policies: []string{"lru", "s3fifo"}})
	must.Do(t, err)
	program := build(t, ".", "./cmd/cachesim")
	command := exec.Command(program, "run", trace, "--policy", "lru,s3fifo", "--format", "json", "--quiet")
	out := must.Get(command.Output())(t)
	var printed []string
	for line := range bytes.Lines(out) {
		var r cachesim.Record
		must.Do(t, json.Unmarshal(line, &r))
		printed = append(printed, textOf(t, &r))
	}
	for i, r := range records {
		if got := textOf(t, &r); i >= len(printed) || got != printed[i] {
			t.Errorf("record %d is %s, want that of %q", i, got, printed)
		}
	}
	if len(records) != 8 {
		t.Errorf("%d records, want 8", len(records))
	}
}

func TestOwnPolicyKeepsItsContract(t *testing.T) { policytest.Run(t, "own-fifo") }

func TestRunWithOwnFormat(t *testing.T) {
	trace := filepath.Join(t.TempDir(), "trace.txt")
	must.Do(t, os.WriteFile(trace, []byte("-> a\n-> b\n-> a\n"), 0o600))
	records, err := cachesim.Run(context.Background(), trace,
		cachesim.Options{Policies: []string{"lru"}, Capacities: []string{"2"}, Format: "own-lines"})
	must.Do(t, err)
	if len(records) != 1 || metric(t, &records[0], "hits") != 1 {
		t.Errorf("records %v, want one with 1 hit", records)
	}
	must.Do(t, os.WriteFile(trace, []byte("-> a\nb\n"), 0o600))
	_, err = cachesim.Run(context.Background(), trace,
		cachesim.Options{Policies: []string{"lru"}, Capacities: []string{"2"}, Format: "own-lines"})
	if err == nil || !strings.Contains(err.Error(), `line 2: "b": want -> KEY`) {
		t.Errorf("error %v, want one that names line 2", err)
	}
}

func TestRegisterRefusesKnownNames(t *testing.T) {
	for name, register := range map[string]func(){
		"lru": func() { cachesim.Register(cachesim.Entry{Name: "lru"}) },
		"csv": func() { cachesim.RegisterFormat(cachesim.Format{Name: "csv"}) },
	} {
		func() {
			defer func() {
				if said := fmt.Sprint(recover()); !strings.Contains(said, "are called "+name) {
					t.Errorf("registering %s: %s", name, said)
				}
			}()
			register()
		}()
	}
}

func TestRunRefuses(t *testing.T) {
	for want, run := range map[string]struct {
		trace   string
		options cachesim.Options
	}{
		"want at least one policy": {"zipf", cachesim.Options{}},
		`unknown policy "lrv"`:     {"zipf", cachesim.Options{Policies: []string{"lrv"}}},
		"nowhere.csv":              {"nowhere.csv", cachesim.Options{Policies: []string{"lru"}}},
		`"many"`:                   {"zipf", cachesim.Options{Policies: []string{"lru"}, Capacities: []string{"many"}}},
		`"wide"`:                   {"zipf", cachesim.Options{Policies: []string{"lru"}, Cache: "wide"}},
	} {
		if _, err := cachesim.Run(context.Background(), run.trace, run.options); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %s", run.trace, err, want)
		}
	}
}

// The examples are modules of their own, as those of others.
func TestExamples(t *testing.T) {
	brief.Long(t, "it builds three programs")
	if out, err := exec.Command("go", "test", "-C", "examples/go", "./...").CombinedOutput(); err != nil {
		t.Errorf("go test: %v\n%s", err, out)
	}
	trace := filepath.Join(t.TempDir(), "requests.log")
	must.Do(t, os.WriteFile(trace, []byte("1 GET /a 10\n2.5 GET /b 20\n3 GET /a 10\n"), 0o600))
	for _, example := range []struct {
		name, want string
		args       []string
	}{
		{"policy", "aged,", []string{"run", "zipf(objects=100,requests=5000)", "--policy", "aged,lru", "--capacity", "10",
			"--format", "csv", "--quiet"}},
		{"reader", ",mylog,", []string{"run", trace, "--policy", "lru", "--capacity", "1", "--format", "csv"}},
		{"replay", "s3fifo", []string{"zipf(objects=100,requests=5000)"}},
	} {
		cmd := exec.Command(build(t, "examples/go", "./"+example.name), example.args...)
		cmd.Dir = t.TempDir()
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), example.want) {
			t.Errorf("%s: %v, want %s in:\n%s", example.name, err, example.want, out)
		}
	}
}

// build builds a program of the module in a folder.
func build(t *testing.T, dir, of string) (program string) {
	t.Helper()
	program = filepath.Join(t.TempDir(), "program")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	cmd := exec.Command("go", "build", "-o", program, of)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s cannot be built: %v\n%s", of, err, out)
	}
	return program
}
