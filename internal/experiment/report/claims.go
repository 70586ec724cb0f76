package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/experiment"
	"github.com/cachesim/cachesim/internal/experiment/claims"
	"github.com/cachesim/cachesim/internal/records"
)

// Claim is a claim of the source, with its verdict.
type Claim struct {
	Experiment string         `json:"experiment"`
	At         string         `json:"at"` // section, figure or table of the source
	Claim      string         `json:"claim"`
	Stated     string         `json:"stated"`
	Measured   string         `json:"measured"` // "" if nothing could be measured
	Verdict    claims.Verdict `json:"verdict"`
	Reason     string         `json:"reason"` // why it cannot be checked
	Note       string         `json:"note"`
	// points at which it does not hold; a claim about a share of the points may hold nevertheless
	Failing []claims.Point `json:"failing"`

	line int // of the experiment's file; 0 if that is not known
}

// judge checks the claims of an experiment against records.
func judge(f *experiment.File, recs []records.Record) (judged []Claim, err error) {
	in := claims.Input{Records: recs, Groups: f.Groups, Absent: f.Absent, References: map[string]claims.Reference{}}
	for _, ref := range f.References {
		p := published(ref)
		numbers := claims.Reference{Within: p.Within}
		for _, point := range p.Points {
			numbers.Points = append(numbers.Points, claims.Number{At: point.At, Value: point.Value})
		}
		in.References[ref.Name] = numbers
	}
	data := map[string]*claims.Data{} // by the metrics whose labels are a dimension
	for i, c := range f.Claims {
		claim, err := claims.Parse(c.Claim)
		if err != nil {
			return nil, fmt.Errorf("claim %q: %w", c.Claim, err)
		}
		labelled := labelledMetrics(claim)
		key := strings.Join(labelled, ",")
		if data[key] == nil {
			byLabels := in
			for _, group := range byKind(labelled) {
				byLabels.Records = records.ByLabel(byLabels.Records, group...)
			}
			data[key] = claims.NewData(byLabels)
		}
		result := claim.Evaluate(data[key])
		verdict := newClaim(f, c)
		verdict.line = f.Line("claims", i)
		verdict.Measured, verdict.Verdict, verdict.Reason = result.Measured, result.Verdict, result.Reason
		for _, p := range result.Points {
			if !p.Holds {
				verdict.Failing = append(verdict.Failing, p)
			}
		}
		judged = append(judged, verdict)
	}
	return judged, nil
}

// labelledMetrics returns the metrics with a value for each label that a claim is about, sorted.
func labelledMetrics(c *claims.Claim) []string {
	names := slices.DeleteFunc(c.Figures(), func(name string) bool { return records.LabelsOf(name) == "" })
	slices.Sort(names)
	return slices.Compact(names)
}

// byKind groups metrics by the kind of their labels.
func byKind(names []string) (groups [][]string) {
	for _, name := range names {
		at := slices.IndexFunc(groups, func(g []string) bool { return records.LabelsOf(g[0]) == records.LabelsOf(name) })
		if at < 0 {
			groups = append(groups, []string{name})
			continue
		}
		groups[at] = append(groups[at], name)
	}
	return groups
}

// newClaim returns a claim without its verdict. Texts that span several lines in the file become one line.
func newClaim(f *experiment.File, c experiment.Claim) Claim {
	return Claim{
		Experiment: f.Name,
		At:         oneLine(c.At),
		Claim:      oneLine(c.Claim),
		Stated:     oneLine(c.Stated),
		Note:       oneLine(c.Note),
		Failing:    []claims.Point{},
	}
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// NotRun returns the summary of an experiment that cannot run: none of its claims can be checked.
func NotRun(f *experiment.File, quick bool, reason string) Summary {
	s := Summary{Name: f.Name, Title: oneLine(f.Title), Source: oneLine(f.Source), Quick: quick, Failure: reason}
	for _, c := range f.Claims {
		claim := newClaim(f, c)
		claim.Verdict, claim.Reason = claims.NotCheckable, reason
		s.Claims = append(s.Claims, claim)
	}
	return s
}

// Why says why a claim does not hold, if that is known; "" for other claims.
func (c Claim) Why() string {
	if c.Verdict != claims.DoesNotHold {
		return ""
	}
	return c.Note
}

// Mark is the sign of the verdict.
func (c Claim) Mark() string {
	switch c.Verdict {
	case claims.Holds:
		return "✓"
	case claims.DoesNotHold:
		return "✗"
	}
	return "–"
}
