// Package ofprompts compares what a server of a language model says that it found of each prompt with a replay of the
// prompts, and has the causes that may explain the difference.
package ofprompts

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/cache/capacity"
	"github.com/cachesim/cachesim/internal/experiment/audit"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/sim"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/prompts"
	"github.com/cachesim/cachesim/internal/traces/workload"
)

// Setup is how a log is read, and what its prompts are replayed through.
type Setup struct {
	Workload workload.Workload
	Cell     sim.Cell

	answers  string        // one of prompts.AnswerModes; "": that of the workload
	block    int           // tokens in a block; 0: those of the log
	least    int64         // tokens: fewer are not reused
	ttl      time.Duration // after the last use of a block, from which on it is missing; 0: never
	delay    time.Duration // after the arrival of a prompt, from which on its blocks are found
	nodes    int           // servers, each with a cache of the capacity; 0 and 1: one
	sticky   bool          // a conversation stays on its server; otherwise prompts take turns
	restarts []int         // prompts before which the caches are emptied

	outcome *audit.Outcome // of its replay; nil if it is not known
}

// scaled returns a setup with a number of units of capacity.
func (s Setup) scaled(units int64) Setup {
	s.Cell.Capacity = capacity.Simulating(max(1, units), s.Cell.Capacity, 1)
	return s
}

// Log is a log that is read in several ways.
type Log struct {
	// Load reads it as a workload says. It is called once for each way, by several goroutines.
	Load func(context.Context, workload.Workload) (*traces.Trace, error)
	read sync.Map // by the keys of workloads
}

// CheckLog refuses a log that does not say what was found of its prompts.
func CheckLog(t *traces.Trace) error {
	p := prompts.Of(t.Kind)
	switch {
	case p == nil:
		return fmt.Errorf("%s has no prompts", t.Name)
	case p.LengthsOnly:
		return fmt.Errorf("%s has lengths of prompts without their contents, so that a replay cannot say what hits; log the "+
			"messages, too", t.Name)
	case !p.HasMeasured():
		return fmt.Errorf("%s does not say what the server found of its prompts; log the answers with their usage "+
			"(prompt_tokens_details.cached_tokens, which vLLM has with --enable-prompt-tokens-details and SGLang with "+
			"--enable-cache-report; cache_read_input_tokens; see cachesim formats openai), or add cached_tokens to the rows of "+
			"a trace", t.Name)
	}
	return nil
}

// trace returns the prompts of a setup: those that its replay serves.
func (l *Log) trace(ctx context.Context, s Setup) (*traces.Trace, error) {
	load := sync.OnceValues(func() (*traces.Trace, error) { return l.Load(ctx, s.Workload) })
	read, _ := l.read.LoadOrStore(s.Workload.Key(), load)
	t, err := read.(func() (*traces.Trace, error))()
	if err != nil {
		return nil, err
	}
	return s.served(t)
}

// served returns the prompts of a log in the blocks, and with the answers, of a setup.
func (s Setup) served(t *traces.Trace) (_ *traces.Trace, err error) {
	mode := s.answers
	if mode == "" {
		if mode = prompts.AnswersOff; t.Requested() != t {
			mode = prompts.Of(t.Kind).AnswerMode()
		}
	}
	t = t.Requested()
	c := s.Cell.Replayed().Cache
	block := s.block
	if of := c.Entry.BlockTokens; block == 0 && of != nil {
		block = of(c.Params)
	}
	if block > 0 && block != prompts.Of(t.Kind).BlockTokens {
		if t, err = t.InBlocks(block); err != nil {
			return nil, err
		}
	}
	if t, err = t.WithAnswers(mode); err == nil && cache.IgnoresAnswers(c, t) {
		t = t.Requested()
	}
	return t, err
}

// seen is a replay, prompt by prompt.
type seen struct {
	trace   *traces.Trace
	columns *prompts.Columns
	hits    []int64 // per prompt: tokens
	warmup  int     // prompts that do not count
}

// says reports whether a prompt counts, and the log says what was found of it.
func (s *seen) says(i int) bool { return i >= s.warmup && s.columns.Measured(i).Known }

// Replay replays a setup, and compares it with what the server found.
func (l *Log) Replay(ctx context.Context, s Setup) (audit.Outcome, error) {
	if s.outcome != nil {
		return *s.outcome, nil
	}
	seen, err := l.replay(ctx, s)
	if err != nil {
		return audit.Outcome{}, err
	}
	return seen.outcome(), nil
}

func (l *Log) replay(ctx context.Context, s Setup) (*seen, error) {
	t, err := l.trace(ctx, s)
	if err != nil {
		return nil, err
	}
	return policies.Await(ctx, func(ctx context.Context) (*seen, error) { return replayEach(ctx, t, s) })
}

// outcome adds up all prompts of which the log says what was found.
func (s *seen) outcome() (o audit.Outcome) {
	for i := range s.hits {
		if s.says(i) {
			o.Add(s.item(i))
		}
	}
	return o
}

// item returns the tokens of a prompt, those that the server found and those that the replay found, all as the server
// counts tokens.
func (s *seen) item(i int) (tokens, measured, replayed int64) {
	measured, tokens = s.columns.Found(i)
	replayed = s.hits[i]
	if own := int64(s.columns.InputTokens[i]); own != tokens {
		replayed = int64(float64(replayed) * (float64(tokens) / float64(own)))
	}
	return tokens, measured, replayed
}

// replayEach serves the prompts one by one.
func replayEach(ctx context.Context, t *traces.Trace, s Setup) (*seen, error) {
	p := prompts.Of(t.Kind)
	if p.Unjoined != nil {
		s.Cell.Capacity = s.Cell.Capacity.InJoinedBlocks(p, t.SampleRate)
		if s.Cell.Capacity.Simulated < 1 {
			return nil, fmt.Errorf("no room for a block of %d tokens", p.BlockTokens)
		}
	}
	if (s.ttl > 0 || s.delay > 0) && p.Arrivals == nil {
		return nil, errors.New("the log has no times")
	}
	r := sim.NewReplayer(t, sim.ReplayerOptions{})
	servers := &servers{setup: s, columns: p, nodes: make([]node, max(1, s.nodes))}
	t, err := servers.open(ctx, r)
	if err != nil {
		return nil, err
	}
	seen := &seen{trace: t, columns: p, hits: make([]int64, len(t.Groups))}
	restarts := s.restarts
	for i := range t.Groups {
		if i%256 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if len(restarts) > 0 && restarts[0] == i {
			restarts = restarts[1:]
			if _, err := servers.open(ctx, r); err != nil {
				return nil, err
			}
		}
		group, _ := t.Group(i)
		seen.hits[i] = servers.serve(i, group)
	}
	return seen, nil
}
