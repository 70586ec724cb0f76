package compare

import (
	"fmt"
	"strings"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/experiment/baseline"
	"github.com/cachesim/cachesim/internal/experiment/checks"
	"github.com/cachesim/cachesim/internal/records"
)

const (
	FailIfMoved = "moved" // in either direction
	FailIfWorse = "worse"
)

var FailIfs = []string{FailIfMoved, FailIfWorse}

// Gate says which cells fail: those that moved, or became worse, by more than their tolerance. A tie never fails.
type Gate struct {
	FailIf string // "": no cell fails
	Rules  []baseline.Rule
}

func (g Gate) check(c *Comparison) error {
	if g.FailIf == "" {
		return nil
	}
	if g.FailIf == FailIfWorse && c.quantity.Better == metric.Neither {
		return fmt.Errorf("--fail-if worse: more %s is neither better nor worse; want --fail-if moved",
			c.quantity.Label())
	}
	var recs []records.Record
	for _, v := range c.Versus {
		for _, cell := range v.Cells {
			recs = append(recs, *cell.Record)
		}
	}
	if err := baseline.CheckFor(g.Rules, recs, c.quantity.Name); err != nil {
		return fmt.Errorf("--%w", err)
	}
	return nil
}

type judgement struct {
	fails   bool
	beyond  bool // its tolerance, in the direction that counts
	allowed baseline.Tolerance
}

func (c *Comparison) judge(cell *Cell) judgement {
	j := judgement{allowed: baseline.ToleranceFor(c.gate.Rules, cell.Record, c.quantity.Name)}
	better := c.quantity.direction(cell.Difference) == Better
	j.beyond = !j.allowed.Allows(cell.Old, cell.New) && !(c.gate.FailIf == FailIfWorse && better)
	j.fails = j.beyond && cell.Outcome != Tie && cell.Outcome != Equal
	return j
}

// suites returns a suite for each comparison of two runs, with a case for each cell.
func (c *Comparison) suites() (all []checks.Suite) {
	for i := range c.Versus {
		v := &c.Versus[i]
		s := checks.Suite{Name: v.New + " against " + v.Old, Summary: c.gateSummary(v)}
		for at := range v.Cells {
			s.Cases = append(s.Cases, c.toCase(&v.Cells[at]))
		}
		addUnmatched := func(run string, alone []Unmatched) {
			for _, u := range alone {
				s.Cases = append(s.Cases, checks.Case{Class: string(u.Trace), Name: u.Cell, Outcome: checks.Skipped,
					Kind: "unmatched", Title: "unmatched: " + u.String(), Message: "only in " + show.Printable(run)})
			}
		}
		addUnmatched(v.Old, v.OnlyOld)
		addUnmatched(v.New, v.OnlyNew)
		all = append(all, s)
	}
	return all
}

func (c *Comparison) toCase(cell *Cell) checks.Case {
	j := c.judge(cell)
	made := checks.NewCase(cell.Record, string(cell.Outcome))
	made.Message = c.describe(cell) + ", tolerance " + j.allowed.String()
	switch {
	case j.fails:
		made.Outcome = checks.Fails
	case cell.Outcome != Equal:
		made.Outcome = checks.Noted
	default:
		made.Message = ""
	}
	return made
}

func (c *Comparison) describe(cell *Cell) string {
	m := c.exact(cell.Estimate)
	text := fmt.Sprintf("%s %s → %s (%s", m.Label(), m.Text(cell.Old), m.Text(cell.New),
		m.DifferenceText(cell.Difference))
	if cell.Margin > 0 {
		text += " ± " + strings.TrimPrefix(m.DifferenceText(float64(cell.Margin)), "+")
	}
	if m.Unit == metric.Share {
		text += " points"
	}
	return text + ")"
}

// failing returns what is wrong with each cell that fails.
func (c *Comparison) failing() (texts []string) {
	for i := range c.Versus {
		for at := range c.Versus[i].Cells {
			cell := &c.Versus[i].Cells[at]
			if c.judge(cell).fails {
				texts = append(texts, fmt.Sprintf("%s on %s in %s: %s", checks.NameOf(cell.Record),
					show.Printable(cell.Record.Trace), c.Versus[i].New, c.describe(cell)))
			}
		}
	}
	return texts
}

func (c *Comparison) gateSummary(v *Versus) string {
	failed, undecided := 0, 0 // ties that are beyond their tolerance
	for i := range v.Cells {
		switch j := c.judge(&v.Cells[i]); {
		case j.fails:
			failed++
		case j.beyond:
			undecided++
		}
	}
	text := fmt.Sprintf("%s against %s: %d of %s %s by more than allowed", v.New, v.Old, failed,
		show.Counted(len(v.Cells), "cell"), c.gate.verb())
	if undecided > 0 {
		text += fmt.Sprintf("; %d more may have, within their intervals", undecided)
	}
	return show.Printable(text)
}

func (g Gate) verb() string {
	if g.FailIf == FailIfWorse {
		return "became worse"
	}
	return "moved"
}

// Err returns why the comparison failed; nil if every cell passes, or if there is no gate.
func (c *Comparison) Err() error {
	if c.gate.FailIf == "" {
		return nil
	}
	failing := c.failing()
	if len(failing) == 0 {
		return nil
	}
	return checks.Failed(fmt.Errorf("the comparison failed: %s %s by more than allowed: %s",
		show.Counted(len(failing), "cell"), c.gate.verb(), checks.Named(failing, checks.MostNamed)))
}

// CheckFormat refuses a format of test cases where no cell can fail.
func (g Gate) CheckFormat(format string, others []string) error {
	return checks.CheckFormat(format, g.FailIf != "", "needs --tolerance, to say which cells moved; add it (exact allows "+
		"no change), or", others)
}
