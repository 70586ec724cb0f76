package suite

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"slices"

	"github.com/cachesim/cachesim/internal/base/parallel"
	"github.com/cachesim/cachesim/internal/policies"
)

// Verdict is the outcome of a check.
type Verdict struct {
	Check  string
	Cases  int    // scripts that were tried; 0 if the check does not apply
	Err    error  // the violation on Script; nil if there is none
	Script Script // the shortest that was found; none if it did not answer in time
}

// Options say how a policy is judged.
type Options struct {
	Cases    int // scripts per check and unit of capacity
	Attempts int // to shorten a script
	Seed     uint64
	Done     func(Verdict) // called after each check
}

// late says that a program did not answer in time. That costs its whole timeout, so that nothing else is tried then.
func late(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }

// Judge checks a policy. An error says that ctx has ended; violations are in the verdicts. A policy that does not
// answer in time fails the check, and no other is made.
func Judge(ctx context.Context, p Subject, o Options) error {
	for _, c := range Checks {
		v, err := o.check(ctx, p, c)
		if err != nil {
			return err
		}
		if late(v.Err) {
			o.Done(v)
			return nil
		}
		if v.Err != nil {
			small := c
			if small.Mix.Tiny = true; !c.Mix.Tiny { // in which shorter scripts fail
				tiny, err := o.check(ctx, p, small)
				if err != nil {
					return err
				}
				if tiny.Err != nil {
					v.Script, v.Err = tiny.Script, tiny.Err
				}
			}
			v.Script, v.Err = Shorten(v.Script, v.Err, o.Attempts, func(s Script) error { return p.Hold(ctx, c, s) })
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		o.Done(v)
	}
	return nil
}

// check makes one check, on several scripts at the same time, and returns the first of them that fails.
func (o Options) check(ctx context.Context, p Subject, c Check) (Verdict, error) {
	v := Verdict{Check: c.Name}
	var scripts []Script
	for _, unit := range []bool{true, false} {
		for i := range o.Cases {
			if c.In(unit, p.Entry) {
				scripts = append(scripts, Random(rand.New(rand.NewPCG(o.Seed, uint64(i))), unit, c.Mix))
			}
		}
	}
	failures := make([]error, len(scripts))
	err := parallel.For(ctx, parallel.Jobs(0), len(scripts), func(ctx context.Context, _, i int) error {
		if failures[i] = p.Hold(ctx, c, scripts[i]); late(failures[i]) {
			return failures[i]
		}
		return ctx.Err()
	})
	if v.Cases = len(scripts); late(err) {
		v.Err = failures[slices.IndexFunc(failures, late)]
		return v, nil
	} else if err != nil {
		return v, err
	}
	if i := slices.IndexFunc(failures, func(err error) bool { return err != nil }); i >= 0 {
		v.Script, v.Err = scripts[i], failures[i]
	}
	return v, nil
}

// Shorten returns a shorter script that also fails, and how. It makes at most so many attempts.
func Shorten(s Script, err error, attempts int, fails func(Script) error) (Script, error) {
	short := shortening{s, err, attempts, fails}
	short.cutEnd()
	short.shrinkCache()
	short.removeSteps()
	for i := range short.script.Steps {
		if steps := slices.Clone(short.script.Steps); steps[i].Size > 1 {
			steps[i].Size = 1
			short.try(short.with(steps))
		}
	}
	short.shrinkCache()
	short.removeSteps()
	short.try(renumbered(short.script))
	return short.script, short.err
}

// shortening is the shortest script so far.
type shortening struct {
	script Script
	err    error
	left   int // attempts
	fails  func(Script) error
}

func (s *shortening) with(steps []Step) Script {
	next := s.script
	next.Steps = steps
	return next
}

// try takes a script if it fails, too.
func (s *shortening) try(next Script) bool {
	if s.left == 0 {
		return false
	}
	s.left--
	err := s.fails(next)
	if late(err) {
		s.left = 0
		return false
	}
	if err != nil {
		s.script, s.err = next, err
	}
	return err != nil
}

// cutEnd removes what comes behind the failure.
func (s *shortening) cutEnd() {
	for low := 0; low < len(s.script.Steps)-1; {
		if middle := (low + len(s.script.Steps)) / 2; !s.try(s.with(s.script.Steps[:middle:middle])) {
			low = middle
		}
	}
}

func (s *shortening) removeSteps() {
	for length := max(len(s.script.Steps)/2, 1); length > 0; {
		removed := false
		for from := len(s.script.Steps) - length; from >= 0; from -= length {
			to := min(from+length, len(s.script.Steps))
			removed = s.try(s.with(slices.Delete(slices.Clone(s.script.Steps), from, to))) || removed
		}
		if length > 1 || !removed || s.left == 0 {
			length /= 2
		}
	}
}

func (s *shortening) shrinkCache() {
	for capacity := int64(1); capacity < s.script.Capacity; capacity += 1 + capacity/4 {
		next := s.script
		if next.Capacity = capacity; s.try(next) {
			return
		}
	}
}

// renumbered returns a script with objects in the order of their first steps.
func renumbered(s Script) Script {
	numbers := map[policies.Object]policies.Object{}
	s.Steps = slices.Clone(s.Steps)
	for i := range s.Steps {
		st := &s.Steps[i]
		n, known := numbers[st.Object]
		if !known {
			n = policies.Object(len(numbers))
			numbers[st.Object] = n
		}
		st.Object = n
	}
	s.Objects = max(len(numbers), 1)
	return s
}
