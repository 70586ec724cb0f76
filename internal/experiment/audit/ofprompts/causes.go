package ofprompts

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/experiment/audit"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/chattemplate"
	"github.com/cachesim/cachesim/internal/traces/prompts"
	"github.com/cachesim/cachesim/internal/traces/read/formats"
)

type (
	cause = audit.Cause[Setup]
	trial = audit.Trial[Setup]
)

// plain is a cause that always applies.
func plain(kind, name, says string, change func(*Setup)) cause {
	return audit.Plain(kind, name, says, func(s Setup) Setup {
		change(&s)
		return s
	})
}

// Causes returns what may explain a gap, in the order in which they are preferred. t is the log as the setup reads it.
func (l *Log) Causes(s Setup, t *traces.Trace) []cause {
	causes := slices.Concat(shared(t), l.salts(t), answers(t), blockSizes(t), least(), times(t), replicas(t), evictions(s),
		[]cause{l.restarts(), l.capacity(t)}, l.templates(t))
	for i, c := range causes {
		causes[i].Try = l.agreeing(c)
	}
	return causes
}

// Find looks for what explains the difference between a setup and the log. t is the log as the setup reads it. Causes
// with which the replay says less of each prompt than the mean hit ratio would are not believed.
func (l *Log) Find(ctx context.Context, s Setup, t *traces.Trace, o audit.Options) (audit.Finding, error) {
	f, err := audit.Find(ctx, s, l.Causes(s, t), l.Replay, o)
	if err == nil && f.Last().Agreement() < byMean(t).Agreement() {
		f.Steps = nil
	}
	return f, err
}

// byMean compares what the server found with the mean hit ratio of all prompts, for each of them.
func byMean(t *traces.Trace) (o audit.Outcome) {
	p := prompts.Of(t.Kind)
	var all audit.Outcome
	each := func(visit func(found, tokens int64)) {
		for i := range t.Groups {
			if p.Measured(i).Known {
				visit(p.Found(i))
			}
		}
	}
	each(func(found, tokens int64) { all.Add(tokens, found, 0) })
	each(func(found, tokens int64) { o.Add(tokens, found, int64(all.HitRatio()*float64(tokens))) })
	return o
}

// agreedShare is how much of the gap that a cause closes must be prompts on which replay and server agree then. Any
// hit ratio can be had with some capacity.
const agreedShare = 0.5

// agreeing returns what tries a cause: it does not apply if it has as many hits as the server, but of other prompts.
func (l *Log) agreeing(c cause) func(context.Context, trial) (Setup, string, error) {
	return func(ctx context.Context, at trial) (Setup, string, error) {
		at.Setup.outcome = nil
		s, says, err := c.Try(ctx, at)
		if err != nil || says == "" {
			return s, says, err
		}
		o, err := at.Replay(ctx, s)
		if err != nil {
			return s, "", err
		}
		closed := math.Abs(at.Outcome.Gap()) - math.Abs(o.Gap())
		if o.Agreement()-at.Outcome.Agreement() < agreedShare*closed {
			says = ""
		}
		s.outcome = &o
		return s, says, nil
	}
}

// shared are causes of logs that name models, adapters or salts.
func shared(t *traces.Trace) (causes []cause) {
	for _, share := range []struct{ value, says string }{
		{"models", "models, adapters or salts that share their blocks"},
		{"none", "models, adapters or salts that share no blocks"},
	} {
		if spec, ok := withOption(t, "share", share.value); ok {
			causes = append(causes, plain("share", "share="+share.value, share.says, func(s *Setup) {
				s.Workload.Format = spec
			}))
		}
	}
	return causes
}

// users are fields in which logs name who sent a prompt.
var users = []string{"user", "user_id", "metadata.user_id", "safety_identifier", "body.user", "tenant"}

// salts are that the server gives each user blocks of their own (cache_salt), which the log does not say. Only a field
// that prompts of the log have with several values is tried.
func (l *Log) salts(t *traces.Trace) (causes []cause) {
	if _, ok := withOption(t, "tenant", users[0]); !ok || t.Tenants != nil {
		return nil
	}
	for _, field := range users {
		causes = append(causes, cause{Name: "salt=" + field, Kind: "share",
			Try: func(ctx context.Context, at trial) (Setup, string, error) {
				at.Setup.Workload.Tenants = "column(name=" + field + ",salt=true)"
				salted, err := l.trace(ctx, at.Setup)
				if ctx.Err() != nil {
					return at.Setup, "", ctx.Err()
				}
				if err != nil || len(salted.Tenants.Names) < 2 { // no prompt has the field, or all have one user
					return at.Setup, "", nil
				}
				return at.Setup, "a salt for each value of " + field + ", between which nothing is shared", nil
			}})
	}
	return causes
}

// withOption returns the name of the format of a log with another value of an option. ok is false if the log has that
// value, or its format has no such option.
func withOption(t *traces.Trace, name, value string) (spec string, ok bool) {
	format := t.InputFormat()
	spec = audit.WithOption(format, name, value)
	return spec, formats.Check(spec) == nil && !strings.Contains(format, name+"="+value)
}

// templates are other chat templates, with which prompts have more nearly as many tokens as the server counts.
func (l *Log) templates(t *traces.Trace) (causes []cause) {
	for _, template := range chattemplate.Templates {
		spec, ok := withOption(t, "template", template.Name)
		if !ok {
			continue
		}
		causes = append(causes, cause{Name: "template=" + template.Name, Kind: "template",
			Try: func(ctx context.Context, at trial) (Setup, string, error) {
				now, err := l.trace(ctx, at.Setup)
				if err != nil {
					return at.Setup, "", err
				}
				at.Setup.Workload.Format = spec
				other, err := l.trace(ctx, at.Setup)
				if err != nil || miscounted(other) >= miscounted(now) {
					return at.Setup, "", err
				}
				return at.Setup, "the chat template " + template.Name, nil
			}})
	}
	return causes
}

// miscounted returns by how many tokens the prompts of a log differ from what the server counts.
func miscounted(t *traces.Trace) (tokens int64) {
	p := prompts.Of(t.Kind)
	for i := range t.Groups {
		if p.Measured(i).Known {
			_, counted := p.Found(i)
			own := int64(p.InputTokens[i])
			tokens += max(own-counted, counted-own)
		}
	}
	return tokens
}

// answers are other ways to keep what decoding writes.
func answers(t *traces.Trace) (causes []cause) {
	mode := prompts.AnswersOff
	if t.Requested() != t {
		mode = prompts.Of(t.Kind).AnswerMode()
	}
	for _, other := range []struct{ mode, says string }{
		{prompts.AnswersKept, "answers that are kept"},
		{prompts.AnswersOff, "answers that are not kept"},
	} {
		if other.mode != mode && prompts.Of(t.Requested().Kind).HasAnswers() {
			causes = append(causes, plain("answers", "answers="+other.mode, other.says, func(s *Setup) {
				s.answers = other.mode
			}))
		}
	}
	return causes
}

// blockSizes are larger blocks than those of the log.
func blockSizes(t *traces.Trace) (causes []cause) {
	own := prompts.Of(t.Requested().Kind)
	for _, tokens := range []int{32, 64, 128, 256, 512, 784, 1024, 2048} {
		if tokens > own.BlockTokens && own.CheckJoin(tokens) == nil {
			causes = append(causes, plain("block", fmt.Sprint("block=", tokens), fmt.Sprintf("blocks of %d tokens", tokens),
				func(s *Setup) { s.block = tokens }))
		}
	}
	return causes
}

// least are how few tokens APIs do not keep.
func least() (causes []cause) {
	for _, tokens := range []int64{1024, 2048, 4096} {
		causes = append(causes, plain("least", fmt.Sprint("least=", tokens), "prefixes of fewer than "+
			show.Count(tokens)+" tokens that are not reused, as with APIs", func(s *Setup) { s.least = tokens }))
	}
	return causes
}

// times are causes that need the arrivals of prompts.
func times(t *traces.Trace) (causes []cause) {
	if prompts.Of(t.Kind).Arrivals == nil {
		return nil
	}
	for _, ttl := range []struct {
		of   time.Duration
		name string
	}{{5 * time.Minute, "5 minutes"}, {time.Hour, "1 hour"}, {10 * time.Minute, "10 minutes"},
		{30 * time.Minute, "30 minutes"}, {time.Minute, "1 minute"}, {24 * time.Hour, "24 hours"}} {
		causes = append(causes, plain("ttl", "ttl="+ttl.of.String(), "a time to live of "+ttl.name+" since the last use",
			func(s *Setup) { s.ttl = ttl.of }))
	}
	for _, delay := range []time.Duration{time.Second, 3 * time.Second, 10 * time.Second, 30 * time.Second} {
		causes = append(causes, plain("delay", "delay="+delay.String(), fmt.Sprintf("prompts whose blocks are found only %v "+
			"after they arrive, when they have been computed", delay), func(s *Setup) { s.delay = delay }))
	}
	return causes
}

// mostReplicas are as many servers as are tried.
var mostReplicas = []int{2, 3, 4, 6, 8}

// replicas are several servers that answered.
func replicas(t *traces.Trace) (causes []cause) {
	sessions := prompts.Of(t.Kind).Sessions != nil
	for _, n := range mostReplicas {
		causes = append(causes, plain("replicas", fmt.Sprint("replicas=", n), fmt.Sprintf("%d servers that take turns, each "+
			"with a cache of the whole capacity", n), func(s *Setup) { s.nodes, s.sticky = n, false }))
		if sessions {
			causes = append(causes, plain("replicas", fmt.Sprintf("replicas=%d,sticky", n), fmt.Sprintf("%d servers, of which "+
				"one has all of a conversation, each with a cache of the whole capacity", n),
				func(s *Setup) { s.nodes, s.sticky = n, true }))
		}
	}
	return causes
}

// engines are policies that servers of language models follow.
var engines = []string{"vllm", "sglang-lru", "sglang-lfu", "sglang-fifo", "lmcache-lru", "lru"}

// evictions are the rules of other engines.
func evictions(s Setup) (causes []cause) {
	for _, name := range engines {
		if name != s.Cell.Policy.Entry.Name {
			spec := policies.Known(name)
			causes = append(causes, plain("policy", name, "the rules of "+name+" in the place of "+s.Cell.Policy.Name(),
				func(s *Setup) { s.Cell.Policy = spec }))
		}
	}
	return causes
}

// restarts is that the caches were emptied while the log was written.
func (l *Log) restarts() cause {
	return cause{Name: "restarts", Kind: "restarts", Try: func(ctx context.Context, at trial) (Setup, string, error) {
		seen, err := l.replay(ctx, at.Setup)
		if err != nil {
			return at.Setup, "", err
		}
		at.Setup.restarts = seen.restarts()
		if len(at.Setup.restarts) == 0 {
			return at.Setup, "", nil
		}
		return at.Setup, fmt.Sprintf("%s of the server, after which nothing was found (first at prompt %s)",
			show.Counted(len(at.Setup.restarts), "restart"), show.Count(int64(at.Setup.restarts[0]+1))), nil
	}}
}

// A restart is believed if so many prompts hit across it in the replay, and none on the server; the most certain ones
// are tried.
const (
	leastLost    = 3
	mostRestarts = 8
)

// restarts returns the prompts before which the caches may have been emptied: no later prompt has found a block that
// was last used before. Of several prompts in a row the one is taken across which the replay hits most often.
func (s *seen) restarts() (at []int) {
	server := s.across(func(i int) int64 {
		_, measured, _ := s.item(i)
		return measured
	})
	replay := s.across(func(i int) int64 {
		_, _, replayed := s.item(i)
		return replayed
	})
	for i := 1; i < len(server); i++ {
		best := i
		for ; i < len(server) && server[i] == 0; i++ {
			if replay[i] > replay[best] {
				best = i
			}
		}
		if server[best] == 0 && replay[best] >= leastLost {
			at = append(at, best)
		}
	}
	slices.SortStableFunc(at, func(a, b int) int { return replay[b] - replay[a] })
	at = at[:min(len(at), mostRestarts)]
	slices.Sort(at)
	return at
}

// across returns, for each prompt, how many prompts from it on hit blocks that were last used before it. hits has the
// tokens of a prompt that hit, as the server counts them.
func (s *seen) across(hits func(i int) int64) []int {
	changes := make([]int, len(s.hits)+1)
	last := make([]int, s.trace.NumObjects) // per block: the number of the last prompt that has it, plus 1
	for i := range s.hits {
		group, _ := s.trace.Group(i)
		if s.says(i) {
			_, all := s.columns.Found(i)
			found := int(hits(i) * int64(s.columns.InputTokens[i]) / max(1, all) / int64(s.columns.BlockTokens))
			if found = min(found, s.columns.Full(i, group)); found > 0 && last[group[found-1]] > 0 {
				changes[last[group[found-1]]]++ // from the prompt behind it
				changes[i+1]--
			}
		}
		for _, o := range group {
			last[o] = i + 1
		}
	}
	across, open := make([]int, len(s.hits)), 0
	for i := range across {
		open += changes[i]
		across[i] = open
	}
	return across
}
