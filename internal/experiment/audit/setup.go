package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/sim/feed"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/stream"
	"github.com/cachesim/cachesim/internal/traces/workload"
)

// Setup is how a log is read, and what its requests are replayed through.
type Setup struct {
	Workload workload.Workload
	Cell     sim.Cell

	edits    []edit        // of the trace, in this order
	ttl      time.Duration // after which a stored object is missing; 0: never
	from     int64         // when the ttl began
	fresh    bool          // it holds only for what was stored since then
	seconds  bool          // the ttl counts in whole seconds of the clock, and includes the last one
	idle     time.Duration // likewise, since its last request
	restarts []int64       // times at which the cache is emptied
	nodes    int           // servers that take turns, each with a cache of the capacity; 0 and 1: one
	byTime   bool          // they take turns in the order of the times, and not in that of the log's rows
	hashed   bool          // nodes have parts of the objects instead of taking turns
	byLabel  bool          // a server for each label, in the place of nodes

	key string // the names of all causes in it
	// numbered says that an edit knows objects by their numbers, so that another reading would not fit it.
	numbered bool
}

// edit returns another trace with the same requests, or with more in front. It leaves what it gets as it is.
type edit func(*traces.Trace) *traces.Trace

// with returns a setup with a further edit.
func (s Setup) with(e edit) Setup {
	s.edits = append(slices.Clip(s.edits), e)
	return s
}

// scaled returns a setup with another capacity.
func (s Setup) scaled(factor float64) Setup {
	c := s.Cell.Capacity
	of := func(n int64) int64 { return max(1, int64(float64(n)*factor)) }
	scaled := capacity.Of(of(c.Amount), c.Bytes)
	scaled.Simulated = of(c.Simulated)
	s.Cell.Capacity = scaled
	return s
}

// Log is a log that is read in several ways.
type Log struct {
	// Load reads it as a workload says. It is called once for each way, by several goroutines.
	Load func(context.Context, workload.Workload) (*traces.Trace, error)

	totals  *Totals // what the server tells of itself elsewhere; nil: the log says it of each request
	read    onces[*traces.Trace]
	found   onces[*seen]
	replays atomic.Int64
}

// trace returns the requests of a setup: those that its replay serves.
func (l *Log) trace(ctx context.Context, s Setup) (*traces.Trace, error) {
	t, err := l.read.of(s.Workload.Key(), func() (*traces.Trace, error) {
		t, err := l.Load(ctx, s.Workload)
		if err == nil && s.Cell.Capacity.Bytes {
			t, _ = t.WithoutZeroSizes()
		}
		return t, err
	})
	if err != nil {
		return nil, err
	}
	for _, e := range s.edits {
		t = e(t)
	}
	return t, nil
}

// Check refuses a log that does not say what was found, if the server has not told it elsewhere.
func (l *Log) Check(t *traces.Trace) error {
	says := func(s stream.Served) bool { return s == stream.ServedHit || s == stream.ServedMiss }
	passed := 0
	for _, s := range t.Served {
		passed += int(asNumber(s == stream.ServedPass))
	}
	switch {
	case t.Groups != nil:
		return fmt.Errorf("%s has requests in groups, such as prompts; audit compares requests for single objects", t.Name)
	case l.totals == nil && passed > 0 && !slices.ContainsFunc(t.Served, says):
		return fmt.Errorf("%s says of %s of %s that they passed by the cache (BYPASS, pass), and of none that it hit or "+
			"missed: there is nothing to compare; look for what in the server's settings sends them past it", t.Name,
			show.Count(int64(passed)), show.Counted(len(t.Served), "request"))
	case l.totals == nil && !slices.ContainsFunc(t.Served, says):
		return fmt.Errorf("%s does not say what the server found; log it with $upstream_cache_status (nginx), "+
			"%%{Varnish:hitmiss}x (varnishncsa), %%{X-Cache}o (Apache), the result code (Squid) or watch fetchers "+
			"(memcached), name its column, as in --input-format csv:served=4, or give what the server counts (INFO of Redis) "+
			"as --stats", t.Name)
	}
	return nil
}

// CheckPolicy refuses what no server does.
func CheckPolicy(p policies.Spec) error {
	if p.Entry.Kind == policies.Online {
		return nil
	}
	is := "an offline policy, which knows the requests to come"
	if p.Entry.Kind == policies.Bound {
		is = "a bound, which says how few misses are possible"
	}
	return fmt.Errorf("--policy %s: it is %s, and no server's setting; name what the server follows, as in --policy lru "+
		"or --server 'nginx(max_size=1g)'", p.Name(), is)
}

// CheckColumn refuses a column that the log as a setup reads it does not have.
func (l *Log) CheckColumn(ctx context.Context, s Setup, column string) error {
	s.Workload.By = column
	t, err := l.trace(ctx, s)
	if err == nil && t.Labels == nil {
		err = fmt.Errorf("%s has no such column", t.Name)
	}
	if err != nil {
		return fmt.Errorf("--by %s: %w", column, err)
	}
	return nil
}

// Said returns what a log says that the server found, beside a replay without hits.
func Said(t *traces.Trace) (o Outcome) {
	seen := &seen{trace: t}
	for pos := range t.Objects {
		if seen.counts(pos) {
			o.Add(1, asNumber(seen.found(pos)), 0)
		}
	}
	return o
}

// Replays returns how many replays there were.
func (l *Log) Replays() int { return int(l.replays.Load()) }

// Replay replays a setup, and compares it with what the server found.
func (l *Log) Replay(ctx context.Context, s Setup) (Outcome, error) {
	seen, err := l.replay(ctx, s)
	if err != nil {
		return Outcome{}, err
	}
	return l.compare(seen), nil
}

// evidence returns the replay of a setup on which causes are tried, request by request.
func (l *Log) evidence(ctx context.Context, s Setup) (*seen, error) {
	return l.found.of(s.key, func() (*seen, error) { return l.replay(ctx, s) })
}

// onces are values that are made once for each key, by whoever asks first.
type onces[T any] struct{ all sync.Map }

func (o *onces[T]) of(key string, make func() (T, error)) (T, error) {
	made, _ := o.all.LoadOrStore(key, sync.OnceValues(make))
	return made.(func() (T, error))()
}

// compare compares a replay with what the server found: of each request, or of its totals.
func (l *Log) compare(seen *seen) (o Outcome) {
	if l.totals != nil {
		return l.totals.compare(seen)
	}
	for pos := range seen.trace.Objects {
		if seen.counts(pos) {
			o.Add(1, asNumber(seen.found(pos)), asNumber(seen.hits.Has(pos)))
		}
	}
	return o
}

func asNumber(yes bool) int64 {
	if yes {
		return 1
	}
	return 0
}

// seen is a replay, request by request.
type seen struct {
	trace  *traces.Trace
	labels *traces.Labels
	hits   stream.Bitset
}

// counts reports whether the log says of a request whether it hit.
func (s *seen) counts(pos int) bool {
	if s.trace.Served == nil {
		return false
	}
	of := s.trace.Served[pos]
	return (of == stream.ServedHit || of == stream.ServedMiss) && s.reads(pos)
}

// reads reports whether a request belongs to hits and misses.
func (s *seen) reads(pos int) bool { return !s.trace.Fills() || !s.trace.IsWrite(pos) }

// found reports whether the server hit.
func (s *seen) found(pos int) bool { return s.trace.Served[pos] == stream.ServedHit }

// replay replays a setup and returns which requests hit.
func (l *Log) replay(ctx context.Context, s Setup) (*seen, error) {
	t, err := l.trace(ctx, s)
	if err != nil {
		return nil, err
	}
	l.replays.Add(1)
	return policies.Await(ctx, func(ctx context.Context) (*seen, error) { return replayEach(ctx, t, s) })
}

// node is one of the servers.
type node struct {
	feeder  *feed.Feeder
	holding cache.Dropping
	stored  []int64 // per object: when it was stored or, for idle, last requested
}

// replayEach serves the requests one by one.
func replayEach(ctx context.Context, t *traces.Trace, s Setup) (*seen, error) {
	labels := t.Labels
	t = unlabelled(t)
	r := sim.NewReplayer(t, sim.ReplayerOptions{})
	nodes := make([]node, max(1, s.nodes))
	if s.byLabel {
		nodes = make([]node, len(labels.Names))
	}
	open := func() (err error) {
		for i := range nodes {
			if t, nodes[i], err = openNode(ctx, r, s); err != nil {
				return err
			}
		}
		return nil
	}
	if err := open(); err != nil {
		return nil, err
	}
	seen := &seen{trace: t, labels: labels}
	restarts, turns := s.restarts, s.turns(t)
	for pos := range t.Objects {
		if pos%4096 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		for len(restarts) > 0 && t.Times[pos] >= restarts[0] {
			restarts = restarts[1:]
			if err := open(); err != nil {
				return nil, err
			}
		}
		if nodes[s.nodeOf(t, labels, turns, pos, len(nodes))].serve(t, pos, s) {
			seen.hits.Set(pos)
		}
	}
	return seen, nil
}

// nodeOf returns which of the servers a request goes to.
func (s Setup) nodeOf(t *traces.Trace, labels *traces.Labels, turns []int, pos, nodes int) int {
	switch {
	case s.byLabel:
		return int(labels.Of[pos])
	case s.hashed:
		const mixes = 0x9e3779b97f4a7c15
		return int(uint64(t.Objects[pos]) * mixes >> 32 % uint64(nodes))
	case turns != nil:
		return turns[pos] % nodes
	}
	return pos % nodes
}

// turns returns the place of each request in the order of the times; nil if servers take turns in that of the rows.
func (s Setup) turns(t *traces.Trace) []int {
	if !s.byTime {
		return nil
	}
	order, turns := make([]int, len(t.Times)), make([]int, len(t.Times))
	for pos := range order {
		order[pos] = pos
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(t.Times[a], t.Times[b]) })
	for turn, pos := range order {
		turns[pos] = turn
	}
	return turns
}

// unlabelled returns a trace without labels, by which a replay would count.
func unlabelled(t *traces.Trace) *traces.Trace {
	other := *t
	other.Labels = nil
	return &other
}

// unwatched observes a cache, which then serves each request by itself, and ignores what it sees.
type unwatched struct{}

func (unwatched) Left(policies.Object, int64, cache.Departure) {}

// openNode returns an empty server, and the trace as it sees it.
func openNode(ctx context.Context, r *sim.Replayer, s Setup) (*traces.Trace, node, error) {
	t, served, err := r.Open(ctx, s.Cell, unwatched{})
	if err != nil {
		return nil, node{}, err
	}
	n := node{feeder: feed.New(t, served, s.Cell.Capacity.Bytes)}
	if s.ttl > 0 || s.idle > 0 {
		n.stored = make([]int64, t.NumObjects)
		if n.holding, _ = served.(cache.Dropping); n.holding == nil {
			return nil, node{}, fmt.Errorf("cache %s cannot drop what has expired", s.Cell.Replayed().Cache.Name())
		}
	}
	if (s.ttl > 0 || s.idle > 0 || len(s.restarts) > 0) && t.Times == nil {
		return nil, node{}, errors.New("the log has no times")
	}
	return t, n, nil
}

// serve serves a request, and reports whether it hit.
func (n *node) serve(t *traces.Trace, pos int, s Setup) (hit bool) {
	o := t.Objects[pos]
	if n.stored != nil && n.holding.Holds(o) && n.isOver(o, t.Times[pos], s) {
		n.holding.Drop(o)
	}
	before := n.feeder.Reads.Hits + n.feeder.Writes.Hits + n.feeder.Counts.Hits
	n.feeder.Serve(pos, pos+1)
	hit = n.feeder.Reads.Hits+n.feeder.Writes.Hits+n.feeder.Counts.Hits > before
	if n.stored != nil && (s.idle > 0 || !hit || t.IsWrite(pos)) {
		n.stored[o] = t.Times[pos]
	}
	return hit
}

// isOver reports whether what is resident has expired by the setup's own rule.
func (n *node) isOver(o uint32, now int64, s Setup) bool {
	stored := n.stored[o]
	switch {
	case s.idle > 0 && now-stored >= int64(s.idle):
		return true
	case s.ttl == 0 || now < s.from || s.fresh && stored < s.from:
		return false
	case s.seconds:
		return now >= wholeSeconds(stored, s.ttl)
	}
	return now-stored >= int64(s.ttl)
}

// WithOption returns the name of a format with another value of an option: "access:query=drop". The option comes first,
// since a format that a server's configuration describes takes all that follows.
func WithOption(format, name, value string) string {
	base, options, _ := strings.Cut(format, ":")
	kept := []string{name + "=" + value}
	for option := range strings.SplitSeq(options, ",") {
		if option != "" && !strings.HasPrefix(option, name+"=") {
			kept = append(kept, option)
		}
	}
	return base + ":" + strings.Join(kept, ",")
}
