package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/experiment"
	"github.com/cachesim/cachesim/internal/experiment/claims"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/results"
)

type Claim struct {
	Experiment string `json:"experiment"`
	At         string `json:"at"` // section, figure or table of the source
	Claim      string `json:"claim"`
	Stated     string `json:"stated"`
	claims.Finding
	Expected   claims.Expectation `json:"expected"`
	Note       string             `json:"note"`
	Ours       bool               `json:"ours"`        // no sentence of the source
	Given      string             `json:"given"`       // the claim that is its precondition; "" if it has none
	Calibrated claims.Calibration `json:"calibration"` // on the very number of the claim
	Narrowed   Narrowed           `json:"narrowed"`
	CannotFail bool               `json:"cannot_fail"` // it holds whatever is measured
	// Reading is how the claim reads the sentence, if it can be read in several ways; the verdict is its.
	Reading       string          `json:"reading"`
	OtherReadings []Reading       `json:"other_readings"`
	Changed       []claims.Change `json:"changed"` // earlier forms of the claim
	// points at which it does not hold; a claim about a share of the points may hold nevertheless
	Failing []claims.Point `json:"failing"`

	name       string // by which others refer to it
	line       int    // of the experiment's file; 0 if that is not known
	quantities []claims.Quantity
}

// Narrowed says which traces of the experiment the claim excludes, and what it comes to on all of them.
type Narrowed struct {
	Without []string `json:"without"` // none if it excludes none
	claims.Finding
}

// Reading is another reading of the sentence, with its verdict.
type Reading struct {
	claims.Reading
	claims.Finding
}

// indexedOf returns the records of an experiment as its claims see them.
func indexedOf(f *experiment.File, recs []records.Record) indexed {
	in := claims.Input{Records: recs, Groups: f.Groups, Absent: f.Absent, Without: f.Without,
		References: map[string]results.Published{}}
	for _, ref := range f.References {
		in.References[ref.Name] = *published(ref)
	}
	for _, p := range f.Policies {
		if p.AtOneCapacity() {
			in.AtOneCapacity = append(in.AtOneCapacity, p.Label())
		}
	}
	return indexed{in: in, byMetrics: map[string]*claims.Data{}}
}

func judge(f *experiment.File, recs []records.Record) (judged []Claim, err error) {
	data := indexedOf(f, recs)
	leftOut, err := f.LeftOut()
	if err != nil {
		return nil, err
	}
	for i, c := range f.Claims {
		verdict := newClaim(f, c)
		verdict.line = f.Line("claims", i)
		skip, err := looksAt(c, leftOut, f.Groups)
		if err != nil {
			return nil, err
		}
		if skip {
			verdict.gate(judged, c.Given)
			verdict.Verdict = claims.NotTestable
			judged = append(judged, verdict.untested())
			continue
		}
		claim, result, err := data.evaluate(c.Claim)
		if err != nil {
			return nil, err
		}
		verdict.CannotFail = result.Verdict == claims.Reproduced && claim.CannotFail(data.of(claim))
		verdict.Finding, verdict.quantities = result.Finding, result.Quantities
		verdict.Verdict = c.Judged(result.Verdict)
		verdict.Narrowed = narrowed(claim, f, data)
		verdict.Failing = slices.DeleteFunc(append(verdict.Failing, result.Points...),
			func(p claims.Point) bool { return p.Verdict == claims.Reproduced })
		verdict.gate(judged, c.Given)
		for j := range verdict.OtherReadings {
			r := &verdict.OtherReadings[j]
			_, other, err := data.evaluate(r.Claim)
			if err != nil {
				return nil, err
			}
			r.Finding = other.Finding
		}
		judged = append(judged, verdict)
	}
	return judged, nil
}

// looksAt reports whether a claim looks at cells that were left out, which then is because of its precondition. Those
// that remain may be a part of a group, so that nothing is measured.
func looksAt(c experiment.Claim, leftOut []records.Record, groups map[string][]string) (bool, error) {
	if len(leftOut) == 0 {
		return false, nil
	}
	for _, form := range c.Forms() {
		claim, err := claims.Parse(form)
		if err != nil {
			return false, err
		}
		of := claim.Replays()
		if slices.ContainsFunc(leftOut, func(r records.Record) bool { return of.Has(&r, groups) }) {
			return true, nil
		}
	}
	return false, nil
}

// untested gives the other readings the reason why nothing was measured.
func (c Claim) untested() Claim {
	for i := range c.OtherReadings {
		c.OtherReadings[i].Finding = c.Finding
	}
	return c
}

// narrowed evaluates a claim that excludes traces of the experiment on all of them.
func narrowed(claim *claims.Claim, f *experiment.File, data indexed) (n Narrowed) {
	whole, without := claim.Whole()
	n.Without = slices.DeleteFunc(append([]string{}, without...), func(name string) bool {
		return !slices.ContainsFunc(f.Traces, func(t experiment.Trace) bool { return t.Name == name })
	})
	if len(n.Without) > 0 {
		n.Finding = whole.Evaluate(data.of(whole)).Finding
	}
	return n
}

// gate takes the verdict from a claim whose precondition, one of those above, is refuted or was not tested itself: what
// was measured then says nothing about the sentence.
func (c *Claim) gate(above []Claim, given string) {
	at := slices.IndexFunc(above, func(of Claim) bool { return given != "" && of.name == given })
	if at < 0 || c.Verdict == claims.NotTestable {
		return
	}
	of := above[at]
	if !of.isUnmet() {
		return
	}
	c.Verdict, c.Failing = claims.NotTestable, []claims.Point{}
	c.Reason = fmt.Sprintf("its precondition is %s: %s", of.Verdict, cmp.Or(of.Stated, of.Claim))
	if said := cmp.Or(of.Measured, of.Reason); said != "" {
		c.Reason += " (" + said + ")"
	}
}

// isUnmet reports whether, as a precondition, it keeps others from being tested.
func (c *Claim) isUnmet() bool { return c.Verdict == claims.Refuted || c.Verdict == claims.NotTestable }

// Unmet returns the names of the preconditions that are not met.
func Unmet(in Input) (names experiment.Values, err error) {
	judged, err := judge(in.File, in.Records)
	for _, name := range in.File.Preconditions() {
		if slices.ContainsFunc(judged, func(c Claim) bool { return c.name == name && c.isUnmet() }) {
			names = append(names, name)
		}
	}
	return names, err
}

// LeftOut says how many cells are not replayed, and why; "" if all are.
func LeftOut(f *experiment.File) (string, error) {
	left, err := f.LeftOut()
	if len(left) == 0 || err != nil {
		return "", err
	}
	return fmt.Sprintf("left out %s that only claims use whose precondition is not met (%s)",
		show.Counted(len(left), "cell"), strings.Join(f.Unmet, ", ")), nil
}

// indexed is the data of claims, indexed once for all that are about the same labels.
type indexed struct {
	in        claims.Input
	byMetrics map[string]*claims.Data // by the metrics whose labels are a dimension
}

func (d indexed) evaluate(text string) (*claims.Claim, claims.Result, error) {
	claim, err := claims.Parse(text)
	if err != nil {
		return nil, claims.Result{}, fmt.Errorf("claim %q: %w", text, err)
	}
	return claim, claim.Evaluate(d.of(claim)), nil
}

type speaking interface{ Figures() []string }

// of returns the data with the labels that a claim or a value is about as a dimension.
func (d indexed) of(claim speaking) *claims.Data {
	labelled := labelledMetrics(claim)
	key := strings.Join(labelled, ",")
	if d.byMetrics[key] == nil {
		byLabels := d.in
		for _, group := range records.GroupBy(labelled, records.LabelsOf) {
			byLabels.Records = records.ByLabel(byLabels.Records, group...)
		}
		d.byMetrics[key] = claims.NewData(byLabels)
	}
	return d.byMetrics[key]
}

// labelledMetrics returns the metrics with a value for each label that a claim is about, sorted.
func labelledMetrics(c speaking) []string {
	names := slices.DeleteFunc(c.Figures(), func(name string) bool { return records.LabelsOf(name) == "" })
	slices.Sort(names)
	return slices.Compact(names)
}

// said is what the source states, or the question of ours.
func (c *Claim) said() string { return claims.Said(c.Stated, c.Ours) }

// newClaim returns a claim without its verdict. Texts that span several lines in the file become one line.
func newClaim(f *experiment.File, c experiment.Claim) Claim {
	judged := Claim{Experiment: f.Name, At: claims.OneLine(c.At), Claim: claims.OneLine(c.Claim),
		Stated: claims.OneLine(c.Stated), Expected: c.Expects(f.IsQuick()), Note: claims.OneLine(c.Note),
		Reading: claims.OneLine(c.Reading), OtherReadings: []Reading{}, Changed: []claims.Change{},
		Failing: []claims.Point{}, Ours: c.Ours, Given: c.Given, name: c.Name, Calibrated: c.Calibration(),
		Narrowed: Narrowed{Without: []string{}}}
	for _, r := range c.OtherReadings {
		judged.OtherReadings = append(judged.OtherReadings,
			Reading{Reading: claims.Reading{
				Reading: claims.OneLine(r.Reading), Claim: claims.OneLine(r.Claim),
			}})
	}
	for _, ch := range c.Changed {
		judged.Changed = append(judged.Changed,
			claims.Change{On: ch.On, Before: claims.OneLine(ch.Before), Why: claims.OneLine(ch.Why)})
	}
	return judged
}

// NotRun returns the summary of an experiment that cannot run: none of its claims can be checked.
func NotRun(f *experiment.File, quick bool, reason string) Summary {
	s := Summary{
		Name: f.Name, Title: claims.OneLine(f.Title), Source: claims.OneLine(f.Source), Quick: quick, Failure: reason,
	}
	for _, c := range f.Claims {
		claim := newClaim(f, c)
		claim.Finding = claims.Finding{Verdict: claims.NotTestable, Reason: reason}
		s.Claims = append(s.Claims, claim.untested())
	}
	return s
}

// Why says why a claim is not reproduced, if that is known; "" for one that is, or that cannot be tested.
func (c Claim) Why() string {
	switch {
	case c.Verdict == claims.Calibrated:
		return c.Calibrated.Constant + " was fitted on this number: " + c.Calibrated.Because
	case c.Verdict == claims.Reproduced || c.Verdict == claims.NotTestable:
		return ""
	case c.Verdict == c.Expected.Verdict && c.Expected.Because != "":
		return strings.TrimSpace(strings.TrimSuffix(c.Expected.Because, ".") + ". " + c.Note)
	}
	return c.Note
}

// Mark is the sign of the verdict.
func (c Claim) Mark() string { return c.Verdict.Mark() }

// verdict is the verdict in words, with what was expected if that is said: "refuted, as expected".
func (c Claim) verdict() string {
	text := string(c.Verdict)
	if more := c.remark(); more != "" {
		text += ", " + more
	}
	return text
}

// remark is what to say of the verdict itself; "" for most.
func (c Claim) remark() string {
	switch {
	case c.CannotFail:
		return "whatever is measured"
	case c.Expected.Verdict == "" || c.Verdict == claims.NotTestable:
		return ""
	case c.Expected.Met(c.Verdict):
		return "as expected"
	}
	return "but expected: " + string(c.Expected.Verdict)
}

// read says which traces the claim excludes, how it reads the sentence, and what comes of it otherwise; "" if it
// excludes none and there is one reading.
func (c Claim) read() (text string) {
	if len(c.Narrowed.Without) > 0 {
		text = fmt.Sprintf("narrowed: without %s; with it %s", strings.Join(c.Narrowed.Without, ", "), c.Narrowed.Verdict)
		if said := cmp.Or(c.Narrowed.Measured, c.Narrowed.Reason); said != "" {
			text += ", " + said
		}
	}
	if c.Reading == "" {
		return text
	}
	text = strings.TrimPrefix(text+"; read as "+c.Reading, "; ")
	for _, r := range c.OtherReadings {
		text += fmt.Sprintf("; read as %s: %s", r.Reading.Reading, r.Verdict)
		if said := cmp.Or(r.Measured, r.Reason); said != "" {
			text += ", " + said
		}
	}
	return text
}
