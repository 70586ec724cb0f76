// Package scorecard says of each paper what it states, sentence by sentence, and what the last full run of our
// experiments came to: the verdict, why, and what would settle what is open.
package scorecard

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/configs"
	"github.com/cachesim/cachesim/internal/base/suggest"
	"github.com/cachesim/cachesim/internal/experiment"
	"github.com/cachesim/cachesim/internal/experiment/claims"
	"github.com/cachesim/cachesim/internal/records"
)

// Paper is one whose figures are experiments.
type Paper struct {
	Key    string // of the command
	Name   string // of its system
	Source string
	prefix string // of the names of its experiments
}

// Papers are all of them, in the order of their scorecards.
var Papers = []Paper{
	{"laru", "LARU", "LCR (arXiv 2509.20979v1)", "laru-"},
	{"igtcache", "IGTCache", "IGTCache (arXiv 2506.12370)", "igtcache-"},
	{"hlem", "HLEM", "HLEM (arXiv 2605.04450)", "hlem-"},
	{"litecache", "LiteCache", "LiteCache, QSAC (arXiv 2511.14510v2)", "qsac-"},
	{"rac", "RAC", "RAC (arXiv 2602.21547)", "rac-"},
}

// Has reports whether an experiment is one of the paper's.
func (p Paper) Has(experiment string) bool { return strings.HasPrefix(experiment, p.prefix) }

// All stands for all papers.
const All = "all"

// Choose returns the paper of a key, or all of them.
func Choose(key string) ([]Paper, error) {
	if key == All {
		return Papers, nil
	}
	keys := []string{All}
	for _, p := range Papers {
		if p.Key == key {
			return []Paper{p}, nil
		}
		keys = append(keys, p.Key)
	}
	return nil, suggest.Unknown("paper", key, keys)
}

// Card is the scorecard of a paper.
type Card struct {
	Paper
	Experiments []Experiment
}

// Experiment is one of a paper's.
type Experiment struct {
	Name, Title string
	On, Commit  string   // of its run
	Drawn       []string // figures of ours over published numbers, and whose these are
	Sentences   []Sentence
}

// Sentence is one of a paper, or a question of ours, with its verdict.
type Sentence struct {
	Paper      string         `json:"paper"`
	Experiment string         `json:"experiment"`
	Ours       bool           `json:"ours"`
	Stated     string         `json:"stated"` // in our words, with the number of the paper
	At         string         `json:"at"`
	Claim      string         `json:"claim"`
	Verdict    claims.Verdict `json:"verdict"`
	Unit       string         `json:"unit"` // of what the claim compares; "" if the claim does not tell
	Measured   string         `json:"measured"`
	Narrowed   bool           `json:"narrowed"`
	Why        string         `json:"why"`        // it is not reproduced
	SettledBy  string         `json:"settled_by"` // what would settle it, where it is open
}

// Read makes the scorecard of a paper from its experiments and their stored verdicts.
func Read(ctx context.Context, p Paper) (Card, error) {
	card := Card{Paper: p}
	names := slices.DeleteFunc(configs.Papers(), func(name string) bool { return !p.Has(name) })
	files, err := experiment.LoadAll(ctx, names, false)
	if err != nil {
		return card, err
	}
	for _, f := range files {
		e, err := read(p, f, configs.Verdicts(f.Name))
		if err != nil {
			return card, err
		}
		card.Experiments = append(card.Experiments, e)
	}
	return card, nil
}

// read joins the claims of an experiment with their verdicts.
func read(p Paper, f *experiment.File, verdicts []configs.Verdict) (e Experiment, err error) {
	e = Experiment{Name: f.Name, Title: claims.OneLine(f.Title)}
	if len(verdicts) != len(f.Claims) {
		return e, fmt.Errorf("%s has %d claims, and verdicts of %d; want make verdicts EXPERIMENTS=%s", f.Name,
			len(f.Claims), len(verdicts), f.Name)
	}
	for i, c := range f.Claims {
		v := verdicts[i]
		verdict := verdictOf(v.Mark)
		if v.Claim != claims.OneLine(c.Claim) || verdict == "" {
			return e, fmt.Errorf("%s: the claim %q has the verdict %q of %q; want make verdicts EXPERIMENTS=%s", f.Name,
				c.Claim, v.Mark, v.Claim, f.Name)
		}
		e.On, e.Commit = v.On, v.Commit
		parsed, err := claims.Parse(c.Claim)
		if err != nil {
			return e, fmt.Errorf("%s: %w", f.Name, err)
		}
		settled := ""
		if !c.Ours && !verdict.IsMet() {
			settled = claims.OneLine(f.SettledBy)
		}
		e.Sentences = append(e.Sentences, Sentence{Paper: p.Name, Experiment: f.Name, Ours: c.Ours,
			Stated: cmp.Or(claims.OneLine(c.Stated), v.Claim), At: claims.OneLine(c.At), Claim: v.Claim, Verdict: verdict,
			Unit: parsed.Unit(), Measured: withUnits(v.Measured, parsed.Unit()),
			Narrowed: strings.Contains(v.Measured, "narrowed: without "), Why: v.Why, SettledBy: settled})
	}
	for _, figure := range f.Figures {
		for _, name := range figure.References {
			for _, ref := range f.References {
				if ref.Name == string(name) {
					e.Drawn = append(e.Drawn, fmt.Sprintf("figure %s, over %s", figure.Name, claims.OneLine(ref.Source)))
				}
			}
		}
	}
	return e, nil
}

func verdictOf(mark string) claims.Verdict {
	for _, v := range claims.Verdicts {
		if v.Mark() == mark {
			return v
		}
	}
	return ""
}

// of returns the sentences of the paper, or the questions of ours.
func (c Card) of(ours bool) (all []Sentence) {
	for _, e := range c.Experiments {
		for _, s := range e.Sentences {
			if s.Ours == ours {
				all = append(all, s)
			}
		}
	}
	return all
}

func count(all []Sentence, verdict claims.Verdict) int {
	return records.Count(all, func(s Sentence) bool { return s.Verdict == verdict })
}

// counts are the numbers of all verdicts: "21 ✓, 0 ↑, 1 c, 3 ≈, 25 ✗, 1 –".
func counts(all []Sentence) string {
	var parts []string
	for _, v := range claims.Verdicts {
		parts = append(parts, fmt.Sprintf("%d %s", count(all, v), v.Mark()))
	}
	return strings.Join(parts, ", ")
}

// narrowed is the number of reproduced sentences that exclude a trace.
func narrowed(all []Sentence) int {
	return records.Count(all, func(s Sentence) bool { return s.Narrowed && s.Verdict == claims.Reproduced })
}

// Score is one line: "LARU 21 of 51".
func (c Card) Score() string {
	all := c.of(false)
	text := fmt.Sprintf("%s %d of %d", c.Name, count(all, claims.Reproduced), len(all))
	if n := narrowed(all); n > 0 {
		text += fmt.Sprintf(" (%d narrowed)", n)
	}
	return text
}

// Line has the scores of all papers.
func Line(cards []Card) string {
	var scores []string
	for _, c := range cards {
		scores = append(scores, c.Score())
	}
	return "Sentences reproduced: " + strings.Join(scores, ", ") + "."
}
