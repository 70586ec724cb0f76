package experiment

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/cachesim/cachesim/internal/base/memory"
	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/workload"
)

// newCell returns a cell of a generated trace, such as "zipf(objects=100,requests=1000)", or of a file.
func newCell(trace, policy, capacity string) Cell {
	c, err := readCell(trace, policy, capacity)
	if err != nil {
		panic(err)
	}
	return c
}

func readCell(trace, policy, capacity string) (Cell, error) {
	c := CellText{
		partTexts: partTexts{Cache: "exact", Policy: policy}, Label: policy, Capacity: capacity, Sizes: "as-written",
		Version: "test",
	}
	if workload.IsGenerator(trace) {
		c.Workload = workload.Workload{Name: trace, Generator: trace}
	} else {
		c.Workload = workload.Workload{Name: trace, Files: []string{trace}}
	}
	return CellReader{}.Read(c)
}

func numbered(cells ...Cell) []Cell {
	for i := range cells {
		cells[i].Number = i
		cells[i] = cells[i].WithHash()
	}
	return cells
}

// grid returns a plan of every policy at every capacity on every trace, each compared with opt.
func grid(traces, policies, capacities []string) []Cell {
	var cells []Cell
	for _, trace := range traces {
		for _, capacity := range capacities {
			opt := newCell(trace, "opt", capacity)
			opt.Auxiliary = true
			cells = append(cells, opt)
			for _, policy := range policies {
				c := newCell(trace, policy, capacity)
				c.Against = []string{opt.WithHash().Hash}
				cells = append(cells, c)
			}
		}
	}
	return numbered(cells...)
}

const (
	zipfA = "zipf(objects=300,requests=20000,alpha=0.8)"
	zipfB = "zipf(objects=300,requests=20000,alpha=1.1)"
)

func smallGrid() []Cell {
	return grid([]string{zipfA, zipfB}, []string{"lru", "s3fifo", "random", "lru-stack"}, []string{"5", "1%", "10%"})
}

func execute(t *testing.T, cells []Cell, options Options) (map[string]Result, error) {
	t.Helper()
	results := map[string]Result{}
	options.Finished = func(c Cell, r Result) error {
		if _, twice := results[c.Hash]; twice {
			t.Errorf("cell %s ran twice", c)
		}
		results[c.Hash] = r
		return nil
	}
	err := Execute(t.Context(), cells, options)
	return results, err
}

func TestExecuteRunsEveryCellOnce(t *testing.T) {
	cells := smallGrid()
	again := cells[1]
	again.Label, again.Number = "other", len(cells)
	cells = append(cells, again)
	results := must.Get(execute(t, cells, Options{Jobs: 3}))(t)
	if len(results) != len(cells)-1 {
		t.Fatalf("%d results of %d cells", len(results), len(cells)-1)
	}
	for _, c := range cells {
		r := results[c.Hash]
		rec := must.Get(r.RecordOf(c))(t)
		if rec.Trace != c.Workload.Name || rec.TraceGenerator != c.Workload.Generator || rec.Label != c.Label ||
			rec.Cell != c.Hash ||
			rec.CapacityText != c.Capacity.String() || rec.Version != "test" || rec.Int(metric.Requests) != 20000 {
			t.Errorf("record of %s: %+v", c, rec)
		}
		if rec.Has(metric.NsPerRequest) || r.Times[metric.NsPerRequest.Name] <= 0 || r.Seconds <= 0 {
			t.Errorf("times of %s: %v in the record, %v and %v s beside it", c, rec.Float(metric.NsPerRequest), r.Times,
				r.Seconds)
		}
	}
}

func TestTextsOfCellsAreChecked(t *testing.T) {
	text := newCell(zipfA, "lru", "10").Text()
	for want, change := range map[string]func(*CellText){
		"exists: ":                 func(c *CellText) { c.Policy = "lrru" },
		`capacity "ten"`:           func(c *CellText) { c.Capacity = "ten" },
		"want one capacity, not 2": func(c *CellText) { c.Capacity = "1,2" },
		"as-written":               func(c *CellText) { c.Sizes = "" },
		`unknown cache "tree"`:     func(c *CellText) { c.Cache = "tree" },
	} {
		wrong := text
		change(&wrong)
		must.NotGet((CellReader{}).Read(wrong))(t, want)
	}
}

func TestExecuteStopsAtMistakes(t *testing.T) {
	good := newCell(zipfA, "lru", "10")
	file := filepath.Join(t.TempDir(), "trace.csv")
	must.Do(t, os.WriteFile(file, []byte("key\n1\n2\n1\n"), 0o644))
	changed := newCell(file, "lru", "10")
	changed.Workload.Checksum = "sha256:00"
	set := func(change func(*Cell)) Cell {
		c := good
		change(&c)
		return c
	}
	for name, test := range map[string]struct {
		cell Cell
		want string
	}{
		"no sizes":   {newCell(zipfA, "lru", "1MiB"), "has no sizes"},
		"no clock":   {newCell(file, "ttl", "10"), "needs times, but"},
		"warm-up":    {set(func(c *Cell) { c.Warmup = 20000 }), "below the 20000 of the trace"},
		"generator":  {newCell("zipf(alpha=-1)", "lru", "10"), "trace zipf(alpha=-1)"},
		"no file":    {newCell("nowhere.csv", "lru", "10"), "no such trace file"},
		"other file": {changed, "the trace has changed"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := execute(t, numbered(test.cell), Options{})
			must.Fail(t, err, test.want)
		})
	}
}

func TestExecuteGoesOnWhereFailuresAreTaken(t *testing.T) {
	cells := numbered(newCell("nowhere.csv", "lru", "10"), newCell(zipfA, "lru", "1MiB"), newCell(zipfA, "lru",
		"10"), newCell(zipfA, "lru-k", "2MiB"))
	var failed []string
	results := must.Get(execute(t, cells, Options{Failed: func(cells []Cell, err error) error {
		for _, c := range cells {
			failed = append(failed, c.Hash)
		}
		var missing *workload.MissingError
		if cells[0].Workload.Generator == "" && !errors.As(err, &missing) {
			t.Errorf("error %v, want a MissingError", err)
		}
		return nil
	}}))(t)
	if _, ok := results[cells[2].Hash]; len(results) != 1 || !ok {
		t.Errorf("%d results", len(results))
	}
	slices.Sort(failed)
	want := []string{cells[0].Hash, cells[1].Hash, cells[3].Hash}
	slices.Sort(want)
	if !slices.Equal(failed, want) {
		t.Errorf("failed %v, want %v", failed, want)
	}
}

func TestExecuteKeepsWhatEndedBeforeAnInterruption(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	finished := 0
	err := Execute(ctx, smallGrid(), Options{Jobs: 1, Finished: func(Cell, Result) error {
		finished++
		cancel()
		return nil
	}})
	if !errors.Is(err, context.Canceled) || finished == 0 || finished >= len(smallGrid()) {
		t.Errorf("%d finished, error %v", finished, err)
	}
}

func TestExecuteStopsWhereResultsCannotBeKept(t *testing.T) {
	full := errors.New("the disk is full")
	calls := 0
	err := Execute(t.Context(), smallGrid(), Options{Jobs: 1, Finished: func(Cell, Result) error { calls++; return full }})
	if err != full || calls != 1 {
		t.Errorf("error %v after %d calls", err, calls)
	}
}

// loads records which traces are loaded.
type loads chan string

func (l loads) Loading(trace string) Task { l <- trace; return silentTask{} }
func (l loads) Comparing(string) Task     { return silentTask{} }
func (l loads) Replaying([]Cell) Task     { return silentTask{} }
func (l loads) Planned(int64)             {}

func TestExecuteLoadsEachTraceOnce(t *testing.T) {
	cells := smallGrid()
	// The cells alternate between traces, and are grouped by trace.
	slices.SortStableFunc(cells, func(a, b Cell) int {
		return strings.Compare(fmt.Sprint(a.Number%15),
			fmt.Sprint(b.Number%15))
	})
	loaded := make(loads, len(cells))
	must.Get(execute(t, cells, Options{Jobs: 4, Progress: loaded}))(t)
	close(loaded)
	var names []string
	for name := range loaded {
		names = append(names, name)
	}
	if !slices.Equal(names, []string{zipfA, zipfB}) {
		t.Errorf("loaded %v", names)
	}
}

// TestExecuteLetsGoOfTraces: only traces in use are reachable, not those whose cells have ended.
func TestExecuteLetsGoOfTraces(t *testing.T) {
	const traceCount = 12
	var cells []Cell
	for seed := range traceCount {
		trace := fmt.Sprintf("uniform(objects=100,requests=2000,seed=%d)", seed)
		cells = append(cells, newCell(trace, "lru", "10"), newCell(trace, "opt", "10"))
	}
	for _, jobs := range []int{1, 3} {
		var mu sync.Mutex
		var loaded []weak.Pointer[traces.Trace]
		most := 0
		options := Options{Jobs: jobs, prepared: func(tr *traces.Trace) {
			mu.Lock()
			defer mu.Unlock()
			loaded = append(loaded, weak.Make(tr))
		}, Finished: func(Cell, Result) error {
			runtime.GC()
			mu.Lock()
			defer mu.Unlock()
			reachable := 0
			for _, p := range loaded {
				if p.Value() != nil {
					reachable++
				}
			}
			most = max(most, reachable)
			return nil
		}}
		must.Do(t, Execute(t.Context(), numbered(cells...), options))
		if len(loaded) != traceCount || most == 0 {
			t.Errorf("%d jobs: %d of %d traces were loaded, and %d seen", jobs, len(loaded), traceCount, most)
		}
		// Each job uses at most one trace, and the previous one may just be ending.
		if most > 2*jobs {
			t.Errorf("%d jobs: %d traces are reachable at the same time, want at most %d", jobs, most, 2*jobs)
		}
	}
}

// Cells with the same outcome on a trace share a replay, and each gets its own record.
func TestCellsThatShareAReplayKeepTheirNames(t *testing.T) {
	share, number, seeded := newCell(zipfA, "lru", "10%"), newCell(zipfA, "lru", "30"), newCell(zipfA, "lru", "30")
	seeded.Seed = 7
	cells := numbered(share, number, seeded)
	results, err := execute(t, cells, Options{})
	if err != nil || len(results) != 3 {
		t.Fatalf("%d results, %v", len(results), err)
	}
	for _, c := range cells {
		r := results[c.Hash]
		if rec := r.Record; rec.CapacityText != c.Capacity.String() || rec.Capacity != 30 || rec.Seed != c.Seed ||
			rec.Cell != c.Hash {
			t.Errorf("record of %s: %+v", c, rec)
		}
	}
}

// slowReplays is the progress of replays that take three seconds each on the test's clock.
type slowReplays struct{ loads }

func (slowReplays) Replaying([]Cell) Task { return &slowTask{} }

type slowTask struct {
	silentTask
	slept bool
}

func (t *slowTask) Set(int64, int64) {
	if !t.slept {
		t.slept = true
		time.Sleep(3 * time.Second)
	}
}

// Cells that share a pass over the trace have equal shares of its time.
func TestCellsThatShareAReplayShareItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		share, number, seeded := newCell(zipfA, "lru", "10%"), newCell(zipfA, "lru", "30"), newCell(zipfA, "lru", "30")
		seeded.Seed = 7
		results, err := execute(t, numbered(share, number, seeded), Options{Progress: slowReplays{make(loads, 1)}})
		if err != nil || len(results) != 3 {
			t.Fatalf("%d results, %v", len(results), err)
		}
		for _, r := range results {
			if r.Seconds != 1 {
				t.Errorf("%s at %s took %v s, want a third of three", r.Record.Label, r.Record.CapacityText, r.Seconds)
			}
		}
	})
}

// atOnce is the progress of replays that records how many run at the same time at most.
type atOnce struct {
	loads
	running, most *atomic.Int64
}

func (a atOnce) Replaying([]Cell) Task {
	running := a.running.Add(1)
	for most := a.most.Load(); running > most && !a.most.CompareAndSwap(most, running); most = a.most.Load() {
	}
	return atOnceTask{running: a.running}
}

type atOnceTask struct {
	silentTask
	running *atomic.Int64
}

func (t atOnceTask) End() { t.running.Add(-1) }

// Replays that do not fit into memory together run one after another, with the same results; a note says so, whichever
// would have run at the same time. One that does not fit alone is an error.
func TestReplaysThatDoNotFitTogetherRunOneAfterAnother(t *testing.T) {
	const trace = "zipf(requests=100000,objects=50000)"
	cells := numbered(newCell(trace, "lirs", "10"), newCell(trace, "lirs", "1000"), newCell(trace, "lirs", "10000"))
	run := func(jobs int, budget *memory.Budget) (results map[string]Result, notes []string, most int64, err error) {
		progress := atOnce{make(loads, len(cells)), new(atomic.Int64), new(atomic.Int64)}
		results, err = execute(t, cells, Options{Jobs: jobs, Memory: budget, Progress: progress, Note: func(text string) {
			if !strings.Contains(text, "zipf") {
				notes = append(notes, text)
			}
		}})
		return results, notes, progress.most.Load(), err
	}
	want, notes, _, err := run(8, nil)
	if err != nil || len(notes) > 0 {
		t.Fatalf("without a limit: notes %q, %v", notes, err)
	}
	got, notes, most, err := run(8, memory.Fixed(66<<20, 60<<20))
	must.Do(t, err)
	for _, c := range cells {
		if err := want[c.Hash].SameAs(c, got[c.Hash]); err != nil {
			t.Errorf("%s: %v", c, err)
		}
	}
	if most != 1 || len(notes) != 1 || !strings.HasPrefix(notes[0], "fewer replays run at the same time") {
		t.Errorf("%d replays at once, want 1; notes %q", most, notes)
	}
	if _, notes, _, err := run(1, memory.Fixed(66<<20, 60<<20)); err != nil || len(notes) > 0 {
		t.Errorf("one job: notes %q, %v; one replay at a time fits", notes, err)
	}
	_, _, _, err = run(8, memory.Fixed(66<<20, 65<<20))
	if !errors.As(err, new(*memory.Error)) || !strings.Contains(err.Error(), "the replay of lirs") {
		t.Errorf("a replay that does not fit alone: %v", err)
	}
}

// A trace that is already in memory is not loaded, and the records are the same.
func TestExecuteTakesATraceThatIsThere(t *testing.T) {
	cells := smallGrid()[:5]
	want := must.Get(execute(t, cells, Options{}))(t)
	trace := must.Get(cells[0].Workload.Load(t.Context(), nil, read.Options{}))(t)
	loaded := make(loads, len(cells))
	asked := 0
	got := must.Get(execute(t, cells, Options{Progress: loaded, Trace: func(workload.Workload) *traces.Trace {
		asked++
		return trace
	}}))(t)
	if len(loaded) != 0 || asked != 1 {
		t.Errorf("%d traces were loaded, and one was asked for %d times", len(loaded), asked)
	}
	for _, c := range cells {
		if err := want[c.Hash].SameAs(c, got[c.Hash]); err != nil {
			t.Errorf("%s: %v", c, err)
		}
	}
}

// A warm-up belongs to a cell, not to its trace.
func TestExecuteWarmsUp(t *testing.T) {
	cold, warm := newCell(zipfA, "lru", "10"), newCell(zipfA, "lru", "10")
	warm.Warmup = 5000
	cells := numbered(cold, warm)
	results := must.Get(execute(t, cells, Options{}))(t)
	whole, counted := results[cells[0].Hash].Record, results[cells[1].Hash].Record
	if whole.Int(metric.Requests) != 20000 || whole.Warmup != 0 || counted.Int(metric.Requests) != 15000 ||
		counted.Warmup != 5000 {
		t.Errorf("%d requests after %d, %d after %d", whole.Int(metric.Requests), whole.Warmup, counted.Int(metric.Requests),
			counted.Warmup)
	}
	if first := whole.Int(metric.Hits) - counted.Int(metric.Hits); first <= 0 || first >= 5000 {
		t.Errorf("%d hits, %d of them after the warm-up", whole.Int(metric.Hits), counted.Int(metric.Hits))
	}
}

// Columns are loaded if a cell of the trace needs them, and do not affect the records of cells that do not.
func TestExecuteLoadsTheColumnsThatCellsNeed(t *testing.T) {
	const timed = "zipf(objects=300,requests=20000,size=lognormal(mean=50,sigma=1,max=900))"
	for _, policy := range []string{"ttl", "gdsf"} {
		capacity := map[string]string{"ttl": "10", "gdsf": "1kB"}[policy]
		plain, needs := newCell(timed, "lru", "10"), newCell(timed, policy, capacity)
		alone := must.Get(execute(t, numbered(plain), Options{}))(t)
		cells := numbered(plain, needs)
		both := must.Get(execute(t, cells, Options{}))(t)
		if err := alone[cells[0].Hash].SameAs(cells[0], both[cells[0].Hash]); err != nil {
			t.Errorf("lru beside %s: %v", policy, err)
		}
	}
}

// Each policy is timed once before any is replayed a second time; then the slowest comes first.
func TestTheSlowestStartFirst(t *testing.T) {
	e := &executor{costs: map[string]float64{}}
	var cells []sim.Cell
	for _, c := range []string{"lru 1", "lru 2", "fifo 1", "fifo 2", "arc 1", "lru 3"} {
		policy, size, _ := strings.Cut(c, " ")
		cells = append(cells, must.Get(newCell(zipfA, policy, size).on(&traces.Trace{Objects: []uint32{0}}))(t))
	}
	var jobs []job
	for _, j := range sim.NewReplayer(&traces.Trace{}, sim.ReplayerOptions{}).Jobs(cells) {
		jobs = append(jobs, job{Job: j})
	}
	g := &group{queues: inQueues(jobs)}
	var order []string
	take := func(n int) {
		for range n {
			j := e.takeLongest(g)
			order = append(order, j.policy()+" "+j.Cells()[0].Capacity.String())
		}
	}
	take(3)
	e.costs["lru"], e.costs["fifo"], e.costs["arc"] = 10, 30, 20
	take(3)
	if got, want := strings.Join(order, ", "), "lru 1, fifo 1, arc 1, fifo 2, lru 2, lru 3"; got != want ||
		len(g.queues) != 0 {
		t.Errorf("order %s, want %s; %d policies left", got, want, len(g.queues))
	}
}
