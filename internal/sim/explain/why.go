package explain

import (
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/base/suggest"
	"github.com/cachesim/cachesim/internal/base/tabular"
	"github.com/cachesim/cachesim/internal/base/terminal"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/traces"
)

// PrintWhy replays the cell on the trace, which must have its keys, and prints why the requests for some keys missed: a
// row for each miss among the requests wanted, and a sentence about all those for each key. It returns an error if the
// trace does not request a key, and stops early with ctx's error.
func PrintWhy(ctx context.Context, w io.Writer, t *traces.Trace, cell sim.Cell, replayer sim.ReplayerOptions, o Options,
	keys ...string) error {
	fates, err := fatesOf(t, cell, keys)
	if err != nil {
		return err
	}
	var misses []miss
	err = sim.NewReplayer(t, replayer).Explain(ctx, cell, func(d sim.Decision) error {
		if o.To > 0 && d.Pos >= o.To {
			return errEnough
		}
		for _, f := range fates {
			if m, missed := f.follow(d); missed && d.Pos >= o.From {
				misses = append(misses, m)
			}
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return err
	}
	p := printedMisses{misses: misses, severalKeys: len(fates) > 1}
	for _, f := range fates {
		p.summaries = append(p.summaries, f.summary(misses))
	}
	return p.print(w, o.Format)
}

// fatesOf returns what follows each of the keys, once if one is given twice.
func fatesOf(t *traces.Trace, cell sim.Cell, keys []string) (fates []*fate, err error) {
	for i, key := range keys {
		if slices.Contains(keys[:i], key) {
			continue
		}
		object, err := objectOf(t, key)
		if err != nil {
			return nil, err
		}
		f := &fate{trace: t, capacity: cell.Capacity.Simulated, bytes: cell.Capacity.Bytes, object: object, key: key,
			loaded: never, last: never, left: never}
		if cell.Admission != nil {
			f.admission = cell.Admission.String()
		}
		fates = append(fates, f)
	}
	return fates, nil
}

// SampleNote says that positions and counts are those of a sample; "" if the trace is whole.
func SampleNote(t *traces.Trace) string {
	if t.SampleRate == 0 || t.SampleRate == 1 {
		return ""
	}
	return fmt.Sprintf("explain counts the requests of the sample (--sample %v), as its positions do; in the whole trace "+
		"about %.3g times as many lie between two of them", t.SampleRate, 1/t.SampleRate)
}

// objectOf returns the number of a key.
func objectOf(t *traces.Trace, key string) (policies.Object, error) {
	of := t.Name
	if SampleNote(t) != "" {
		of = "the sample of " + of
	}
	like := ""
	for o, k := range t.Keys {
		text := k.String()
		if text == key {
			return policies.Object(o), nil
		}
		if like == "" && strings.Contains(text, key) {
			like = text
		}
	}
	if like != "" {
		return 0, fmt.Errorf("--key %q: %s does not request it; did you mean %q?", key, of, like)
	}
	var some []string
	for _, k := range t.Keys[:min(1000, len(t.Keys))] {
		some = append(some, k.String())
	}
	if near, ok := suggest.Nearest(key, some); ok {
		return 0, fmt.Errorf("--key %q: %s does not request it; did you mean %q?", key, of, near)
	}
	return 0, fmt.Errorf("--key %q: %s does not request it; its first key is %q", key, of, some[0])
}

// miss is a request for the key that missed.
type miss struct {
	Position   int     `json:"position"`
	Seconds    float64 `json:"seconds,omitempty"` // of the trace's clock
	HitsBefore int     `json:"hits_before"`       // since the miss before
	Cause      string  `json:"cause"`
	Ago        int     `json:"requests_ago,omitempty"` // since the cause, in requests of the whole trace
	Why        string  `json:"why"`
	Key        string  `json:"key"`
}

// never is the position of what has not happened.
const never = -1

// The causes of misses. Those of removals have the words of traces.Cause.
const (
	firstRequest = "first request"
	evicted      = "evicted"
	notLoaded    = "not loaded"
)

// fate follows one object through a replay.
type fate struct {
	trace     *traces.Trace
	capacity  int64
	bytes     bool
	object    policies.Object
	key       string
	admission string // in front of the cache; "" if there is none

	requests, hits int
	sinceMiss      int  // hits
	loaded, last   int  // positions at which it was loaded, and last requested
	removed        bool // the log removed it
	left           int  // position at which it left, or was not loaded; never: it is in the cache, or never was
	cause, detail  string
}

// follow notes a decision. missed says that it was a miss of the object.
func (f *fate) follow(d sim.Decision) (m miss, missed bool) {
	f.leave(d, d.Removed)
	if d.Query == f.object {
		f.requests++
		if d.Hit {
			f.hits++
			f.sinceMiss++
		} else {
			m, missed = f.miss(d.Pos), true
			f.sinceMiss = 0
		}
		f.settle(d)
		f.last = d.Pos
	}
	f.leave(d, d.Evicted)
	if slices.Contains(d.Prefetched, f.object) {
		f.loaded, f.left = d.Pos, never
	}
	return m, missed
}

// settle notes whether the object is in the cache after its own request.
func (f *fate) settle(d sim.Decision) {
	switch {
	case d.Hit:
	case d.Loaded:
		f.loaded, f.left = d.Pos, never
	default:
		f.left, f.cause, f.removed = d.Pos, notLoaded, false
		switch {
		case f.trace.Passes(d.Pos):
			f.detail = "that request loads nothing"
		case f.bytes && f.trace.Size(d.Pos) > f.capacity:
			f.detail = fmt.Sprintf("it has %s, more than the cache", show.Size(f.trace.Size(d.Pos), 4))
		case d.Refused:
			f.detail = "the admission " + f.admission + " kept it out"
		default:
			f.detail = "the policy kept it out"
		}
	}
}

// leave notes whether the object is among those that leave with a decision.
func (f *fate) leave(d sim.Decision, left []sim.Left) {
	at := slices.IndexFunc(left, func(l sim.Left) bool { return l.Object == f.object })
	if at < 0 {
		return
	}
	f.left, f.cause, f.detail, f.removed = d.Pos, evicted, "", false
	switch why := left[at].Why; why {
	case cache.ForDemand.String():
		if d.Query != f.object {
			f.detail = "to load " + f.trace.Keys[d.Query].String()
		}
	case cache.ForPrefetch.String():
		f.detail = "to prefetch another object"
	case cache.Shrunk.String(), cache.ForRestore.String():
		f.detail = "because its part of the cache shrank"
	case cache.Dropped.String():
	case cache.Expired.String():
		f.cause = traces.Expired.String() // by the policy
	default:
		f.cause, f.removed = why, true
	}
}

// miss says why the object is not in the cache at a position.
func (f *fate) miss(pos int) miss {
	m := miss{Key: f.key, Position: pos, HitsBefore: f.sinceMiss, Cause: firstRequest, Why: firstRequest}
	if f.trace.Times != nil {
		m.Seconds = float64(f.trace.Times[pos]) / float64(time.Second)
	}
	if f.left == never {
		if f.requests > 1 { // only where parts of the trace begin with an empty cache
			m.Cause, m.Why = "empty cache", "the cache was empty at the start of its file"
		}
		return m
	}
	m.Cause, m.Ago = f.cause, pos-f.left
	text := f.cause + " right before"
	if m.Ago > 0 {
		text = fmt.Sprintf("%s %s before", f.cause, f.between(f.left, pos))
	}
	if f.detail != "" {
		text += ", " + f.detail
	}
	if f.cause != notLoaded && f.loaded != never {
		text += fmt.Sprintf("; it was in the cache for %s", f.between(f.loaded, f.left))
		if f.last > f.loaded {
			text += fmt.Sprintf(", idle for the last %s", f.between(f.last, f.left))
		}
	}
	m.Why = text
	return m
}

// between says how far two positions are apart: 502 requests (3.2s). It has no time where the clock goes back, or where
// the log removed the object: between which requests is known, and not when.
func (f *fate) between(from, to int) string {
	text := show.Counted(to-from, "request")
	if f.trace.Times == nil || f.removed || f.trace.Times[to] < f.trace.Times[from] {
		return text
	}
	return fmt.Sprintf("%s (%s)", text, brief(time.Duration(f.trace.Times[to]-f.trace.Times[from])))
}

// brief rounds a time to about three digits.
func brief(d time.Duration) time.Duration {
	for unit := time.Duration(1); ; unit *= 10 {
		if d.Abs() < 1000*unit {
			return d.Round(unit)
		}
		if unit >= time.Second/10 {
			return d.Round(time.Second)
		}
	}
}

// summary counts the misses by their causes, the most frequent first: "/logo.png: 37 requests, 30 hits, 7 misses: 4
// evicted (half of them at most 502 requests before), 2 expired, 1 first request".
func (f *fate) summary(misses []miss) string {
	ago := map[string][]int{}
	var causes []string
	for _, m := range misses {
		if m.Key != f.key {
			continue
		}
		if ago[m.Cause] == nil {
			causes = append(causes, m.Cause)
		}
		ago[m.Cause] = append(ago[m.Cause], m.Ago)
	}
	slices.SortStableFunc(causes, func(a, b string) int { return cmp.Compare(len(ago[b]), len(ago[a])) })
	var parts []string
	for _, cause := range causes {
		part := show.Count(int64(len(ago[cause]))) + " " + cause
		all := ago[cause]
		slices.Sort(all)
		if all[(len(all)-1)/2] > 0 && len(all) > 1 {
			part += fmt.Sprintf(" (half of them at most %s before)", show.Counted(all[(len(all)-1)/2], "request"))
		}
		parts = append(parts, part)
	}
	text := fmt.Sprintf("%s: %s, %s", f.key, show.Counted(f.requests, "request"), show.Counted(f.hits, "hit"))
	if len(parts) > 0 {
		text += "; misses: " + strings.Join(parts, ", ")
	}
	return text
}

// printedMisses are misses of one key or several, with a sentence for each key.
type printedMisses struct {
	misses      []miss
	severalKeys bool
	summaries   []string
}

func (p printedMisses) print(w io.Writer, format string) error {
	return tabular.Printed{
		Table: p.table,
		CSV:   p.csv,
		JSON:  tabular.EachJSON(p.misses),
	}.Print(w, format)
}

func (p printedMisses) csv(w io.Writer) error {
	rows := [][]string{{"position", "seconds", "hits_before", "cause", "requests_ago", "why", "key"}}
	for _, m := range p.misses {
		rows = append(rows, []string{strconv.Itoa(m.Position), strconv.FormatFloat(m.Seconds, 'f', -1, 64),
			strconv.Itoa(m.HitsBefore), m.Cause, strconv.Itoa(m.Ago), m.Why, m.Key})
	}
	return csv.NewWriter(w).WriteAll(rows)
}

func (p printedMisses) table(w io.Writer, format string) error {
	if len(p.misses) > 0 {
		grid := tabular.GridOf(p.columns(), p.misses)
		if _, err := fmt.Fprintln(w, grid.In(format, terminal.Width(w))); err != nil {
			return err
		}
	}
	return tabular.PrintLines(w, format == "markdown", terminal.Width(w), p.summaries)
}

func (p printedMisses) columns() []tabular.Column[miss] {
	count := func(n int) string { return show.Count(int64(n)) }
	columns := []tabular.Column[miss]{
		{Head: tabular.Head{Name: "position"}, Cell: func(m miss) string { return count(m.Position) }},
		{Head: tabular.Head{Name: "key", IsText: true, Weight: tabular.Key, Wrap: 20},
			Cell: func(m miss) string { return show.Printable(m.Key) }},
		{Head: tabular.Head{Name: "hits before"}, Cell: func(m miss) string { return count(m.HitsBefore) }},
		{Head: tabular.Head{Name: "why it missed", IsText: true, Weight: tabular.Key, Wrap: 30},
			Cell: func(m miss) string { return m.Why }},
	}
	if !p.severalKeys {
		columns = slices.Delete(columns, 1, 2)
	}
	return columns
}
