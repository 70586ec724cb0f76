package audit

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/read/formats"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// cause is a cause of a log. change returns what explains the gap then, "" if the cause does not apply.
func (l *Log) cause(kind, name string,
	change func(context.Context, *Trial[Setup]) (says string, err error)) Cause[Setup] {
	return Cause[Setup]{Name: name, Kind: kind, Try: func(ctx context.Context, at Trial[Setup]) (Setup, string, error) {
		says, err := change(ctx, &at)
		at.Setup.key += "|" + name
		return at.Setup, says, err
	}}
}

// plain is a cause that always applies.
func (l *Log) plain(kind, name, says string, change func(*Setup)) Cause[Setup] {
	return l.cause(kind, name, func(_ context.Context, at *Trial[Setup]) (string, error) {
		change(&at.Setup)
		return says, nil
	})
}

// Causes returns what may explain a gap, in the order in which they are preferred. t is the log as the setup reads it,
// and by a column that a user names.
func (l *Log) Causes(s Setup, t *traces.Trace, by string) (causes []Cause[Setup]) {
	causes = append(causes, l.readings(t)...)
	causes = append(causes, l.times(t)...)
	causes = append(causes, l.limits(t, true)...)
	columns := []string{"status", "method", "client", "directory"}
	if l.totals != nil {
		columns = nil // which requests they are of is not known
	}
	if by != "" && !slices.Contains(columns, by) {
		columns = append([]string{by}, columns...)
	}
	for _, column := range columns {
		causes = append(causes, l.byColumn(column, column == by)...)
	}
	causes = append(causes, l.warm(), l.notStored())
	causes = append(causes, l.settings(s)...)
	causes = append(causes, l.servers()...)
	causes = append(causes, l.capacity(), l.overhead(s))
	causes = append(causes, l.shards()...)
	return append(causes, l.limits(t, false)...)
}

// readings are causes that need another reading of the log.
func (l *Log) readings(t *traces.Trace) (causes []Cause[Setup]) {
	format := t.InputFormat()
	option := func(kind, name, value, says string) {
		spec := WithOption(format, name, value)
		if formats.Check(spec) == nil && !strings.Contains(format, name+"="+value) {
			causes = append(causes, l.cause(kind, name+"="+value,
				func(_ context.Context, at *Trial[Setup]) (string, error) {
					if at.Setup.numbered {
						return "", nil
					}
					at.Setup.Workload.Format = spec
					return says, nil
				}))
		}
	}
	option("query", "query", "keep", "query strings that are part of the key")
	option("query", "query", "drop:tracking", "tracking parameters that are no part of the key")
	option("query", "query", "drop", "query strings that are no part of the key")
	option("query", "query", "sort", "parameters whose order does not matter")
	hasHost := func(r stream.Reading) bool { return strings.HasPrefix(r.Key, "key host and path") }
	if slices.ContainsFunc(t.Readings, hasHost) {
		option("host", "host", "drop", "the host, which is no part of the key")
	}
	if slices.Contains(t.Served, stream.ServedPass) {
		option("uncached", "uncached", "load", "bypassed requests that are stored all the same")
		option("uncached", "uncached", "drop", "bypassed requests that do not touch the cache")
	}
	return causes
}

// byColumn are causes that tell requests apart by a column of the log. A trace has labels of one column, so that only
// one of them can apply.
func (l *Log) byColumn(column string, named bool) (causes []Cause[Setup]) {
	labelled := func(ctx context.Context, at *Trial[Setup]) (*traces.Trace, error) {
		at.Setup.Workload.By = column
		return l.trace(ctx, at.Setup)
	}
	causes = append(causes, l.cause("column", column+" not stored",
		func(ctx context.Context, at *Trial[Setup]) (string, error) {
			if _, err := labelled(ctx, at); err != nil {
				return "", nil // the log has no such column
			}
			at.Setup.key += "|by " + column
			seen, err := l.evidence(ctx, at.Setup)
			if err != nil || seen.labels == nil {
				return "", err
			}
			of := seen.labels.Of
			values := seen.neverFound(len(seen.labels.Names), func(pos int) int { return int(of[pos]) })
			if len(values) == 0 || len(values) == len(seen.labels.Names) {
				return "", nil
			}
			at.Setup = at.Setup.with(func(t *traces.Trace) *traces.Trace {
				return lookups(t, func(pos int) bool { return slices.Contains(values, int(t.Labels.Of[pos])) })
			})
			return fmt.Sprintf("responses that are not stored where %s is %s", column, names(seen.labels, values)), nil
		}))
	causes = append(causes, l.cause("column", column+" in the key",
		func(ctx context.Context, at *Trial[Setup]) (string, error) {
			if t, err := labelled(ctx, at); err != nil || t.Labels == nil || len(t.Labels.Names) < 2 {
				return "", nil
			}
			at.Setup = at.Setup.with(splitByLabel)
			return fmt.Sprintf("a key with %s in it (as by Vary)", column), nil
		}))
	if named {
		causes = append(causes, l.cause("column", "a server for each "+column,
			func(ctx context.Context, at *Trial[Setup]) (string, error) {
				t, err := labelled(ctx, at)
				if err != nil || t.Labels == nil || len(t.Labels.Names) < 2 {
					return "", err
				}
				at.Setup.byLabel = true
				return fmt.Sprintf("a server of its own for each %s, %d in all", column, len(t.Labels.Names)), nil
			}))
	}
	return causes
}

// names lists labels: "404, 301 and 2 others".
func names(l *traces.Labels, values []int) string {
	const most = 3
	var texts []string
	for _, v := range values[:min(most, len(values))] {
		texts = append(texts, l.Names[v])
	}
	text := strings.Join(texts, " or ")
	if n := len(values) - most; n > 0 {
		text += fmt.Sprintf(" or %s", show.Counted(n, "other"))
	}
	return text
}

// What is stored is found again by some share of the requests that would find it. Below this share it is taken not to
// have been stored.
const (
	hardlyEver    = 0.05
	leastExpected = 20
)

// neverFound returns the numbers of which it seems that nothing is stored: after a miss, the next request to the object
// hits in the replay and not on the server. of gives the number of the request that missed.
func (s *seen) neverFound(n int, of func(pos int) int) (numbers []int) {
	expected, found := make([]int, n), make([]int, n)
	missed := make([]int, s.trace.NumObjects) // per object: the position of the miss plus one
	for pos, o := range s.trace.Objects {
		if !s.counts(pos) {
			continue
		}
		if before := missed[o] - 1; before >= 0 && s.hits.Has(pos) {
			expected[of(before)]++
			if s.found(pos) {
				found[of(before)]++
			}
		}
		if missed[o] = 0; !s.found(pos) {
			missed[o] = pos + 1
		}
	}
	for i := range n {
		if expected[i] >= leastExpected && float64(found[i]) <= hardlyEver*float64(expected[i]) {
			numbers = append(numbers, i)
		}
	}
	return numbers
}

// notStored is that some objects never hit.
func (l *Log) notStored() Cause[Setup] {
	return l.cause("objects", "objects not stored", func(ctx context.Context, at *Trial[Setup]) (string, error) {
		seen, err := l.evidence(ctx, at.Setup)
		if err != nil || l.totals != nil {
			return "", err
		}
		const least = 3 // hits of the replay, of which the server has none
		hits, found := make([]int, seen.trace.NumObjects), make([]bool, seen.trace.NumObjects)
		for pos, o := range seen.trace.Objects {
			if seen.counts(pos) {
				found[o] = found[o] || seen.found(pos)
				if seen.hits.Has(pos) {
					hits[o]++
				}
			}
		}
		never, requests := make([]bool, len(hits)), 0
		objects := 0
		for o := range hits {
			if never[o] = !found[o] && hits[o] >= least; never[o] {
				objects++
				requests += hits[o]
			}
		}
		if objects == 0 {
			return "", nil
		}
		at.Setup = at.Setup.with(func(t *traces.Trace) *traces.Trace {
			return lookups(t, func(pos int) bool { return never[t.Objects[pos]] })
		})
		at.Setup.numbered = true
		verb := "never hit, as if they"
		if objects == 1 {
			verb = "never hits, as if it"
		}
		return fmt.Sprintf("%s that %s could not be stored (%s)", show.Counted(objects, "object"), verb,
			show.Counted(requests, "request")), nil
	})
}

// lookups returns a trace in which some requests load nothing.
func lookups(t *traces.Trace, is func(pos int) bool) *traces.Trace {
	other := *t
	other.Ops = make([]stream.Op, len(t.Objects))
	copy(other.Ops, t.Ops)
	for pos := range t.Objects {
		if !other.Ops[pos].Writes() && is(pos) {
			other.Ops[pos] = stream.Lookup
			other.Written.Lookups++
		}
	}
	return &other
}

// splitByLabel returns a trace in which requests of different labels are to different objects.
func splitByLabel(t *traces.Trace) *traces.Trace {
	type object struct {
		was   uint32
		label uint8
	}
	numbers := map[object]uint32{}
	other := *t
	other.Objects, other.Keys, other.ObjectSizes = make([]uint32, len(t.Objects)), nil, nil
	for pos, o := range t.Objects {
		is := object{o, t.Labels.Of[pos]}
		number, known := numbers[is]
		if !known {
			number = uint32(len(numbers))
			numbers[is] = number
			if t.Keys != nil {
				other.Keys = append(other.Keys, t.Keys[o])
			}
			if t.HasSizes() {
				other.ObjectSizes = append(other.ObjectSizes, t.Size(pos))
			}
		}
		other.Objects[pos] = number
	}
	other.NumObjects = len(numbers)
	other.Removals = splitRemovals(t, other.Objects)
	return &other
}

// splitRemovals gives the removals of a trace to the objects that were requested last in the place of theirs.
func splitRemovals(t *traces.Trace, objects []uint32) (removals []traces.Removal) {
	last := make([]uint32, t.NumObjects)
	next := 0
	for _, r := range t.Removals {
		for ; next < int(r.Before); next++ {
			last[t.Objects[next]] = objects[next]
		}
		removals = append(removals, traces.Removal{Before: r.Before, Object: last[r.Object], Why: r.Why})
	}
	return removals
}

// warm is that the cache was not empty when the log began.
func (l *Log) warm() Cause[Setup] {
	return l.cause("warm", "warm at first", func(ctx context.Context, at *Trial[Setup]) (string, error) {
		if l.totals != nil {
			return "", nil
		}
		t, err := l.trace(ctx, at.Setup)
		if err != nil {
			return "", err
		}
		before := heldBefore(t)
		if len(before) == 0 {
			return "", nil
		}
		at.Setup = at.Setup.with(func(t *traces.Trace) *traces.Trace { return inFront(t, heldBefore(t)) })
		return fmt.Sprintf("a cache that was not empty when the log began (the first requests for %s hit)",
			show.Counted(len(before), "object")), nil
	})
}

// heldBefore returns the positions of the first requests that hit, the last one first: what is needed soon must have
// been requested lately.
func heldBefore(t *traces.Trace) (before []int) {
	seen := make([]bool, t.NumObjects)
	for pos, o := range t.Objects {
		if !seen[o] && t.Served[pos] == stream.ServedHit && !t.Passes(pos) {
			before = append(before, pos)
		}
		seen[o] = true
	}
	slices.Reverse(before)
	return before
}

// inFront returns a trace that begins with copies of some of its requests, of which the log does not say what was
// found.
func inFront(t *traces.Trace, positions []int) *traces.Trace {
	n := len(positions)
	other := unlabelled(t)
	other.Objects = slices.Concat(stream.Pick(t.Objects, positions), t.Objects)
	other.RequestSizes = slices.Concat(stream.Pick(t.RequestSizes, positions), t.RequestSizes)
	other.Served = slices.Concat(make([]stream.Served, n), t.Served)
	other.Ops, other.Ends = zerosBefore(t.Ops, n), zerosBefore(t.Ends, n)
	if t.RequestSizes == nil {
		other.RequestSizes = nil
	}
	if t.Times != nil {
		other.Times = slices.Concat(slices.Repeat(t.Times[:1], n), t.Times)
	}
	if t.Labels != nil {
		other.Labels = &traces.Labels{Column: t.Labels.Column, Names: t.Labels.Names,
			Of: slices.Concat(stream.Pick(t.Labels.Of, positions), t.Labels.Of)}
	}
	other.Removals = slices.Clone(t.Removals)
	for i := range other.Removals {
		other.Removals[i].Before += uint32(n)
	}
	return other
}

// zerosBefore puts zeros in front of a column that may be absent.
func zerosBefore[T any](column []T, n int) []T {
	if column == nil {
		return nil
	}
	return slices.Concat(make([]T, n), column)
}

// textbook are policies that servers may follow.
var textbook = []string{"lru", "fifo", "clock", "random", "lfu", "slru", "s3fifo", "w-tinylfu", "gdsf"}

// ofServers are other values of settings that matter, by the names of servers.
var ofServers = map[string][][2]string{
	"nginx":  {{"min_uses", "2"}, {"min_uses", "3"}},
	"redis":  ofRedis,
	"valkey": ofRedis,
	"memcached": {{"f", "1.05"}, {"f", "1.08"}, {"f", "1.25"}, {"f", "1.5"}, {"f", "2"}, {"no_modern", "on"},
		{"automove", "off"}},
	"squid":   {{"policy", "lru"}, {"policy", "heap-LFUDA"}},
	"varnish": {{"lru_interval", "0"}, {"grace", "0"}},
}

var ofRedis = [][2]string{{"policy", "allkeys-lru"}, {"policy", "allkeys-lfu"}, {"policy", "allkeys-random"},
	{"policy", "volatile-lru"}, {"policy", "noeviction"}}

// settings are other policies or, of a server, other values of its settings.
func (l *Log) settings(s Setup) (causes []Cause[Setup]) {
	own := s.Cell.Policy
	for _, setting := range ofServers[own.Entry.Name] {
		changed, ok := withSetting(own, setting[0], setting[1])
		if !ok {
			continue
		}
		causes = append(causes, l.plain(setting[0], setting[0]+"="+setting[1],
			fmt.Sprintf("%s=%s", setting[0], setting[1]), func(s *Setup) { s.Cell.Policy = changed }))
	}
	if !cache.IsExact(s.Cell.Replayed().Cache) {
		return causes
	}
	second, err := sim.AdmissionKind.Parse("second")
	if err == nil && s.Cell.Admission == nil {
		causes = append(causes, l.plain("admission", "admit=second", "objects that are stored at their second request",
			func(s *Setup) { second.Into(&s.Cell.Parts) }))
	}
	for _, name := range textbook {
		if name != own.Entry.Name {
			spec := policies.Known(name)
			causes = append(causes, l.plain("policy", name, "the policy "+name+" in the place of "+own.Name(),
				func(s *Setup) { s.Cell.Policy = spec }))
		}
	}
	return causes
}

// withSetting returns a policy with another value of a parameter; ok is false if it has that value already, or no such
// parameter.
func withSetting(p policies.Spec, name, text string) (_ policies.Spec, ok bool) {
	for _, param := range p.Entry.Params {
		if param.Name != name {
			continue
		}
		value, err := param.Parse(text)
		if err != nil || value == p.Params[name] {
			return p, false
		}
		p.Params = maps.Clone(p.Params)
		p.Params[name] = value
		return p, true
	}
	return p, false
}

// shards is that several servers have parts of the objects, each in a cache of its own. That looks like a cache as
// large as all of them.
func (l *Log) shards() (causes []Cause[Setup]) {
	for _, n := range []int{2, 3, 4} {
		causes = append(causes, l.plain("servers", fmt.Sprintf("%d servers by key", n), fmt.Sprintf("%d servers that divide "+
			"the keys, each with a cache of the whole capacity", n), func(s *Setup) { s.nodes, s.hashed = n, true }))
	}
	return causes
}

// servers is that several servers answered in turn, each with a cache of its own.
func (l *Log) servers() (causes []Cause[Setup]) {
	for _, n := range []int{2, 3, 4} {
		causes = append(causes,
			l.turns(fmt.Sprintf("%d servers", n), fmt.Sprintf("%d servers that take turns, each with a cache of the whole "+
				"capacity", n), func(s *Setup) { s.nodes = n }),
			l.turns(fmt.Sprintf("%d servers that share", n), fmt.Sprintf("%d servers that take turns, each with 1/%[1]d of "+
				"the capacity", n), func(s *Setup) { *s = s.scaled(1 / float64(n)); s.nodes = n }))
	}
	return causes
}

// turns is that servers take turns. A server writes a row when its response has ended, so that the rows of several are
// not in the order of the requests: where the times tell another one, both are tried.
func (l *Log) turns(name, says string, change func(*Setup)) Cause[Setup] {
	return l.cause("servers", name, func(ctx context.Context, at *Trial[Setup]) (string, error) {
		change(&at.Setup)
		t, err := l.trace(ctx, at.Setup)
		if err != nil || t.Times == nil || slices.IsSorted(t.Times) {
			return says, err
		}
		_, _, err = nearest(ctx, at, []bool{false, true}, func(s *Setup, byTime bool) { s.byTime = byTime })
		return says, err
	})
}
