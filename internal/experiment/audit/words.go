package audit

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/show"
)

// Words are what sentences about a finding call things.
type Words struct {
	Units    string                      // "requests", "tokens"
	Settings string                      // what the replay follows: "nginx at 1 GiB"
	Money    func(points float64) string // what so many points of hit ratio cost; nil without prices
	Few      string                      // what is said of few items; "" if the server has told totals
	// Log is what the log itself says, where that is not what is compared: all of it, if the replays are of a sample.
	Log    *Outcome
	Totals string // what is compared in the place of what the log says; "" if that is a sample
	Whole  int    // how many requests there are, if the log was read as a sample of them, and Log is not known; 0: all
}

// Sentences says what the server found, what its settings would give, and what explains the gap: the first is what a
// person would say.
func (f Finding) Sentences(w Words) []string {
	s := f.Stated
	sample := ""
	if w.Whole > 0 {
		sample = ", a sample of " + show.Count(int64(w.Whole))
	}
	first := fmt.Sprintf("The server hit %s of %s %s%s; its settings (%s) would give %s", percent(s.HitRatio()),
		show.Count(s.Units), w.Units, sample, w.Settings, percent(s.ReplayedRatio()))
	switch {
	case w.Log != nil && w.Totals == "":
		first = fmt.Sprintf("The server hit %s of %s %s. Of those in the sample, %s, it hit %s; its settings (%s) would "+
			"give %s of these", percent(w.Log.HitRatio()), show.Count(w.Log.Units), w.Units, show.Count(s.Units),
			percent(s.HitRatio()), w.Settings, percent(s.ReplayedRatio()))
	case w.Log != nil:
		first = fmt.Sprintf("The log itself says %s of %s %s, and is not asked, since --stats %s is given. %s",
			percent(w.Log.HitRatio()), show.Count(w.Log.Units), w.Units, w.Totals, first)
	}
	if f.hasGap() {
		first += fmt.Sprintf(", %s %s", points(s.Gap()), f.direction())
		if w.Money != nil {
			first += ", which " + w.Money(100*s.Gap())
		}
	}
	return append([]string{first + "."}, f.reasons(w)...)
}

// hasGap reports whether the ratios differ by what a person would mind.
func (f Finding) hasGap() bool { return math.Abs(f.Stated.Gap()) >= leastGain }

// direction says on which side of the server the settings are.
func (f Finding) direction() string {
	if f.Stated.Gap() < 0 {
		return "more"
	}
	return "less"
}

// reasons says what explains the gap.
func (f Finding) reasons(w Words) []string {
	switch {
	case f.neverHit():
		return []string{"The server never hit: is caching on, and does what is stored live until the next request for it? " +
			"Nothing else was tried."}
	case len(f.Steps) > 0 && f.Stated.IsCoarse():
		return f.coarse(w)
	case len(f.Steps) > 0 && f.isPartial():
		return f.partly(w)
	case len(f.Steps) > 0:
		return slices.Concat([]string{f.explained(), f.agreement(w)}, f.tied(), f.doubt(w))
	case f.Stated.IsCoarse() && !f.hasGap() && w.Few == "":
		return []string{"They agree, as far as totals tell."}
	case f.Stated.IsCoarse() && f.hasGap():
		return []string{fmt.Sprintf("Nothing that was tried explains the gap (%s).", f.attempts())}
	case f.Stated.Agreement() >= 1-wellAgreed && math.Abs(f.Stated.Gap()) < smallGap:
		return []string{fmt.Sprintf("They agree on %s of the %s: there is nothing to explain.",
			percent(f.Stated.Agreement()), w.Units)}
	}
	return []string{fmt.Sprintf("They agree on %s of the %s. Nothing that was tried explains the rest (%s).",
		percent(f.Stated.Agreement()), w.Units, f.attempts())}
}

// isPartial reports whether the causes leave more open than they explain. They are no answer then: what has a share in
// many faults looks like the one that is not known.
func (f Finding) isPartial() bool {
	return f.Last().distance() > f.Stated.distance()-f.Last().distance()
}

// partly says what comes nearest where the causes leave more open than they explain.
func (f Finding) partly(w Words) []string {
	says := make([]string, len(f.Steps))
	for i, step := range f.Steps {
		says[i] = step.Says
	}
	nearest := fmt.Sprintf("They agree on %s of the %s. Nothing that was tried explains most of the rest (%s). Nearest "+
		"comes %s, with which they agree on %s", percent(f.Stated.Agreement()), w.Units, f.attempts(), listed(says),
		percent(f.Last().Agreement()))
	if f.hasGap() {
		nearest += fmt.Sprintf(" and %s of the gap are not explained", points(f.Unexplained()/100))
	}
	return []string{nearest + ": it leaves more open than it explains, and is hardly the cause."}
}

// wellAgreed is the share of the units on which server and replay may differ where both follow the same rules, and
// smallGap by how much their ratios: clocks, and the order of requests that overlap, are not in the log.
const (
	wellAgreed = 0.02
	smallGap   = 0.01
)

// attempts says what was tried, in the words of people.
func (f Finding) attempts() string {
	var tried []string
	for _, t := range f.Alone {
		word, known := kinds[t.Kind]
		if !known {
			word = "settings"
		}
		if t.applies() && !slices.Contains(tried, word) {
			tried = append(tried, word)
		}
	}
	text := show.Counted(f.Replays, "replay")
	if len(tried) > 0 {
		text += ": " + listed(tried)
	}
	return text
}

// kinds are the kinds of causes as people call them. The others are settings of servers.
var kinds = map[string]string{
	"query": "keys", "host": "keys", "column": "columns",
	"uncached": "what is stored", "objects": "what is stored", "admission": "what is stored", "answers": "what is stored",
	"expiry": "times to live", "ttl": "times to live", "inactive": "times to live", "delay": "delays",
	"restarts": "restarts", "warm": "restarts", "servers": "servers", "replicas": "servers", "policy": "policies",
	"capacity": "capacities", "overhead": "sizes",
	"share": "sharing", "block": "blocks", "least": "blocks", "template": "templates",
}

// explained says which part of the gap each cause explains. Where the ratios do not differ, the causes are what makes
// server and replay disagree.
func (f Finding) explained() string {
	if !f.hasGap() {
		says := make([]string, len(f.Steps))
		for i, step := range f.Steps {
			says[i] = step.Says
		}
		return fmt.Sprintf("The ratios are nearly the same, but of other requests, because of %s.",
			listed(says))
	}
	over := f.Unexplained() <= -leastShown
	var parts []string
	for i, step := range f.Steps {
		part := fmt.Sprintf("%s by %s", number(f.Points(i)), step.Says)
		switch {
		case f.Points(i) <= -leastShown:
			part = fmt.Sprintf("%s the other way by %s", number(-f.Points(i)), step.Says)
		case i == 0 && (over || f.Points(0) > 100*math.Abs(f.Stated.Gap())+leastShown):
			part = fmt.Sprintf("%s points are explained by %s", number(f.Points(i)), step.Says)
		case i == 0:
			part = fmt.Sprintf("%s of the %s are explained by %s", number(f.Points(i)), points(f.Stated.Gap()), step.Says)
		}
		parts = append(parts, part)
	}
	if over {
		return fmt.Sprintf("%s; that is %s more than the gap.", strings.Join(parts, ", "), number(-f.Unexplained()))
	}
	return fmt.Sprintf("%s; %s are not explained.", strings.Join(parts, ", "), number(f.Unexplained()))
}

// leastShown is the least number of points that is not written as 0.0.
const leastShown = 0.05

// agreement says how many units server and replay see alike.
func (f Finding) agreement(w Words) string {
	return fmt.Sprintf("Server and replay agree on %s of the %s, with the settings as stated on %s.",
		percent(f.Last().Agreement()), w.Units, percent(f.Stated.Agreement()))
}

// mostTies is how many causes are named that explain as much as one of the steps.
const mostTies = 3

// tied says what else would explain it as well.
func (f Finding) tied() (sentences []string) {
	for _, step := range f.Steps {
		var says []string
		for _, t := range step.Ties[:min(mostTies, len(step.Ties))] {
			says = append(says, fmt.Sprintf("%s (%s, agrees on %s)", t.Says, percent(t.Outcome.ReplayedRatio()),
				percent(t.Outcome.Agreement())))
		}
		if left := len(step.Ties) - len(says); left > 0 {
			says = append(says, show.Counted(left, "other"))
		}
		if len(says) > 0 {
			sentences = append(sentences, fmt.Sprintf("What the server found does not tell %s from %s: each fits as well.",
				step.Says, listed(says)))
		}
	}
	return sentences
}

// poorlyAgreed is below which agreement the causes that were found are not the whole truth.
const poorlyAgreed = 0.95

// doubt says that much is unexplained, though the ratios may be alike.
func (f Finding) doubt(w Words) []string {
	agreement := f.Last().Agreement()
	if agreement >= poorlyAgreed {
		return nil
	}
	return []string{fmt.Sprintf("A large part is still unexplained: they differ on %s of the %s. Something else is at "+
		"work, and what is named above may not be the true cause.", percent(1-agreement), w.Units)}
}

// mostCoarse is how many causes are listed where totals cannot tell them apart.
const mostCoarse = 5

// coarse lists what would explain a gap of which only totals are known.
func (f Finding) coarse(w Words) []string {
	alone := slices.DeleteFunc(slices.Clone(f.Alone), func(t Tried) bool {
		return !t.applies() || !explains(f.Stated, t.Outcome)
	})
	slices.SortStableFunc(alone, func(a, b Tried) int {
		return cmp.Compare(math.Round(1000*a.Outcome.distance()), math.Round(1000*b.Outcome.distance()))
	})
	left := max(0, len(alone)-mostCoarse)
	says := make([]string, len(alone)-left)
	for i, t := range alone[:len(alone)-left] {
		says[i] = fmt.Sprintf("%s (%s)", t.Says, percent(t.Outcome.ReplayedRatio()))
	}
	text := "By itself each of these brings the replay nearer: " + strings.Join(says, "; ")
	if left > 0 {
		text += fmt.Sprintf("; and %s", show.Counted(left, "other"))
	}
	if w.Few != "" {
		return []string{fmt.Sprintf("%s. %s.", w.Few, text)}
	}
	return []string{fmt.Sprintf("The server has told totals only, which many causes fit. %s. A log that says of each of "+
		"the %s whether it hit tells which it is.", text, w.Units)}
}

// Points returns how many points of the gap a step explains; those of all steps and Unexplained are the gap.
func (f Finding) Points(step int) float64 {
	before := f.Stated
	if step > 0 {
		before = f.Steps[step-1].Outcome
	}
	return f.toward(before, f.Steps[step].Outcome)
}

// PointsAlone returns how many points of the gap a cause explains by itself.
func (f Finding) PointsAlone(t Tried) float64 { return f.toward(f.Stated, t.Outcome) }

// Unexplained returns how many points of the gap remain.
func (f Finding) Unexplained() float64 { return f.toward(f.Last(), Outcome{}) }

// toward returns by how many points the gap shrinks between two outcomes.
func (f Finding) toward(before, after Outcome) float64 {
	shrinks := 100 * (before.Gap() - after.Gap())
	if f.Stated.Gap() < 0 {
		return -shrinks
	}
	return shrinks
}

// listed writes a list: "a, b and c".
func listed(texts []string) string {
	last := len(texts) - 1
	if last < 1 {
		return strings.Join(texts, "")
	}
	return strings.Join(texts[:last], ", ") + " and " + texts[last]
}

func percent(x float64) string { return fmt.Sprintf("%.1f%%", 100*x) }

// points writes the size of a gap.
func points(gap float64) string { return number(100*math.Abs(gap)) + " points" }

func number(x float64) string {
	text := fmt.Sprintf("%.1f", x)
	if text == "-0.0" {
		return "0.0"
	}
	return text
}
