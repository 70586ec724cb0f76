package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"math"
	"os/exec"
	"slices"
	"strconv"
	"strings"
)

// runs is how often each side runs where something is drawn at random.
const runs = 5

// point is a trace at a capacity, with what both count there.
type point struct {
	trace        *trace
	capacity     int64
	theirs       []counts
	ruled, plain []counts // ours, with the program's rule and without
	err          error    // of theirs
}

// result is what a row came to.
type result struct {
	pair
	points []point
	on     string
}

// compare replays the points of rows in the program of a driver and in ours.
func (r *runner) compare(ctx context.Context, program string, rows []pair, traces *traceSet) ([]result, error) {
	results := make([]result, len(rows))
	for i, row := range rows {
		results[i] = result{pair: row, on: r.on}
	}
	for _, kind := range kinds {
		if !slices.ContainsFunc(rows, func(p pair) bool { return slices.Contains(p.kinds, kind) }) {
			continue
		}
		all, err := traces.of(ctx, kind)
		if err != nil {
			return nil, err
		}
		for _, t := range all {
			if err := r.compareOn(ctx, program, results, t); err != nil {
				return nil, fmt.Errorf("trace %s, %s: %w", t.name, kind, err)
			}
		}
	}
	return results, nil
}

// compareOn adds the points of a trace to the results of rows that have its kind.
func (r *runner) compareOn(ctx context.Context, program string, results []result, t *trace) error {
	ours, err := r.ours(ctx, results, t)
	if err != nil {
		return err
	}
	d := driver{program: program, trace: t.theirs}
	defer d.close()
	for i := range results {
		of := &results[i]
		if !slices.Contains(of.kinds, t.kind) {
			continue
		}
		for _, capacity := range t.capacities {
			p := point{trace: t, capacity: capacity, ruled: ours[cell{of.ruled(), capacity}],
				plain: ours[cell{of.ours, capacity}]}
			for p.err == nil && len(p.theirs) < of.runs() && !p.settled() {
				c, err := d.ask(ctx, of.policy, capacity, t.unit())
				if p.err = err; err == nil {
					p.theirs = append(p.theirs, c)
				}
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if r.verbose && (p.err != nil || !p.equal(p.ruled)) {
				log.Printf("%s, %s, %s, %d %s: %v, ours %v, %v", of.program, of.policy, t.name, capacity, t.unit(), p.theirs,
					p.ruled, p.err)
			}
			of.points = append(of.points, p)
		}
	}
	return nil
}

// cell is a policy of ours at a capacity.
type cell struct {
	policy   string
	capacity int64
}

// ours replays all policies of ours that rows ask for on a trace, each as often as its rows say.
func (r *runner) ours(ctx context.Context, results []result, t *trace) (map[cell][]counts, error) {
	times := map[string]int{}
	for i := range results {
		if of := &results[i]; slices.Contains(of.kinds, t.kind) {
			for _, policy := range []string{of.ours, of.ruled()} {
				times[policy] = max(times[policy], of.runs())
			}
		}
	}
	all := map[cell][]counts{}
	for seed := range runs {
		var policies []string
		for policy, n := range times {
			if n > seed {
				policies = append(policies, policy)
			}
		}
		slices.Sort(policies)
		if len(policies) == 0 {
			break
		}
		if err := r.replay(ctx, t, policies, seed, all); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// replay runs our program and adds the counts of every cell, which it prints by capacity, and then by policy.
func (r *runner) replay(ctx context.Context, t *trace, policies []string, seed int, all map[cell][]counts) error {
	args := []string{"run", t.ours, "--policy", strings.Join(policies, ","), "--capacity", join(t.capacities),
		"--seed", strconv.Itoa(seed), "--format", "json", "--quiet"}
	if t.unit() == "bytes" {
		args = append(args, "--bytes")
	}
	text, err := output(ctx, r.program, args...)
	if err != nil {
		return err
	}
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	if len(lines) != len(policies)*len(t.capacities) {
		return fmt.Errorf("our program printed %d records, want %d", len(lines), len(policies)*len(t.capacities))
	}
	for i, line := range lines {
		var of struct {
			Policy                   string
			Capacity, Requests, Hits int64
			HitBytes                 int64 `json:"hit_bytes"`
		}
		if err := json.Unmarshal(line, &of); err != nil {
			return err
		}
		at := cell{policies[i%len(policies)], t.capacities[i/len(policies)]}
		if name, _, _ := strings.Cut(at.policy, "("); of.Policy != name || of.Capacity != at.capacity {
			return fmt.Errorf("record %d is of %s at %d, want %s at %d", i+1, of.Policy, of.Capacity, at.policy, at.capacity)
		}
		all[at] = append(all[at], counts{of.Requests, of.Hits, of.HitBytes})
	}
	return nil
}

func join(numbers []int64) string {
	var texts []string
	for _, n := range numbers {
		texts = append(texts, strconv.FormatInt(n, 10))
	}
	return strings.Join(texts, ",")
}

// output runs a program and returns what it prints.
func output(ctx context.Context, program string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, &said)
	}
	return out, nil
}

// runs is how often each side runs at a point: once, if nothing is drawn.
func (p *pair) runs() int {
	if p.expect == equal {
		return 1
	}
	return runs
}

// equal says whether every run of both counted the same, bytes too where the capacity counts them.
func (p *point) equal(ours []counts) bool {
	for _, c := range slices.Concat(p.theirs, ours) {
		first := p.theirs[0]
		if p.trace.unit() != "bytes" {
			c.hitBytes, first.hitBytes = 0, 0
		}
		if c != first {
			return false
		}
	}
	return true
}

// settled says whether two runs of theirs, and all of ours, have the same counts: then nothing is drawn.
func (p *point) settled() bool {
	same := func(of []counts) bool { return len(slices.Compact(slices.Clone(of))) == 1 }
	return len(p.theirs) == 2 && same(p.theirs) && same(p.ruled) && same(p.plain)
}

// difference of the hit ratios in points, and what means of so many runs may differ by. The means of two samples differ
// by more once in 5,000 times (Student's t for the 8 degrees of freedom of two samples of 5, or the 4 of one, if the
// other draws nothing).
func (p *point) difference(ours []counts) (points, permitted float64) {
	mean, deviation := spread(p.theirs)
	our, deviationOfOurs := spread(ours)
	pooled := math.Hypot(deviation, deviationOfOurs)
	permitted = 6.442 * pooled * math.Sqrt(1.0/runs)
	if deviation == 0 || deviationOfOurs == 0 { // one that draws nothing may still be one draw of what the other draws
		permitted = 13.034 * pooled * math.Sqrt(1+1.0/runs)
	}
	percent := 100 / float64(p.theirs[0].requests)
	return math.Abs(mean-our) * percent, permitted * percent
}

// spread returns the mean and the standard deviation of hits.
func spread(of []counts) (mean, deviation float64) {
	for _, c := range of {
		mean += float64(c.hits) / float64(len(of))
	}
	for _, c := range of {
		deviation += (float64(c.hits) - mean) * (float64(c.hits) - mean) / float64(max(1, len(of)-1))
	}
	return mean, math.Sqrt(deviation)
}

// summary is what all points of a row come to.
type summary struct {
	found         string // equal, seeds or differs
	largest, mean float64
	at            string
	answered      int   // points
	err           error // of the first point that was not
}

// summarise holds the counts that ours returns for each point to the program's.
func (of *result) summarise(ours func(*point) []counts) (s summary) {
	s.found = equal
	for i := range of.points {
		p := &of.points[i]
		where := fmt.Sprintf("%s at %d %s", p.trace.name, p.capacity, p.trace.unit())
		if p.err == nil && p.theirs[0].requests != ours(p)[0].requests {
			p.err = fmt.Errorf("%d requests, ours %d", p.theirs[0].requests, ours(p)[0].requests)
		}
		if p.err != nil {
			s.err = cmp.Or(s.err, fmt.Errorf("%s: %w", where, p.err))
			continue
		}
		s.answered++
		difference, permitted := p.difference(ours(p))
		if difference > s.largest {
			s.largest, s.at = difference, where
		}
		s.mean += difference
		switch {
		case p.equal(ours(p)):
		case of.expect != equal && difference <= permitted:
			if s.found == equal {
				s.found = seeds
			}
		default:
			s.found = differs
		}
	}
	s.mean /= float64(max(1, s.answered))
	return s
}

func withRule(p *point) []counts    { return p.ruled }
func withDefault(p *point) []counts { return p.plain }

// unexpected says how a row differs from what its table expects; in the brief version nothing is too near.
func (of *result) unexpected(brief bool) string {
	s := of.summarise(withRule)
	switch {
	case s.err != nil && (of.expect != differs || s.answered == 0): // a program that fails at some points differs there
		return s.err.Error()
	case of.expect == equal && s.found != equal, of.expect == seeds && s.found == differs:
		return fmt.Sprintf("want %s, differs by up to %.2f points, for %s", of.expect, s.largest, cmp.Or(s.at, "bytes alone"))
	case of.expect == band && s.largest > of.band:
		return fmt.Sprintf("want at most %g points, differs by up to %.2f, for %s", of.band, s.largest, s.at)
	case brief:
		return ""
	case of.expect == differs && s.largest <= 0.5 && s.err == nil:
		return fmt.Sprintf("differs by at most %.2f points: expect a band", s.largest)
	case of.expect == band && of.band > max(0.1, 4*s.largest):
		return fmt.Sprintf("differs by at most %.2f points: expect a narrower band", s.largest)
	}
	return ""
}

// line says what a row came to.
func (of *result) line() string {
	s := of.summarise(withRule)
	return fmt.Sprintf("%s %s: %s: %s beside %s, %d points of %d, largest difference %.2f", of.program, of.version, of.policy,
		s.found, of.ruled(), s.answered, len(of.points), s.largest)
}
