package compare

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/base/suggest"
	"github.com/cachesim/cachesim/internal/experiment/baseline"
	"github.com/cachesim/cachesim/internal/experiment/checks"
	"github.com/cachesim/cachesim/internal/records"
)

// What a gate fails on.
const (
	FailIfMoved = "moved" // in either direction
	FailIfWorse = "worse"
)

// FailIfs lists what a gate can fail on.
var FailIfs = []string{FailIfMoved, FailIfWorse}

// Gate says which cells fail: those that moved, or became worse, by more than their tolerance. A tie never fails.
type Gate struct {
	FailIf string // "": no cell fails
	Rules  []baseline.Rule
}

// check refuses rules that cannot apply.
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

// judgement is a gate's verdict on a cell.
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
		for _, alone := range []struct {
			run     string
			results []Unmatched
		}{{v.Old, v.OnlyOld}, {v.New, v.OnlyNew}} {
			for _, u := range alone.results {
				s.Cases = append(s.Cases, checks.Case{Class: u.Trace, Name: u.Cell, Outcome: checks.Skipped, Kind: "unmatched",
					Title: "unmatched: " + u.String(), Message: "only in " + show.Printable(alone.run)})
			}
		}
		all = append(all, s)
	}
	return all
}

func (c *Comparison) toCase(cell *Cell) checks.Case {
	j := c.judge(cell)
	name := checks.NameOf(cell.Record)
	made := checks.Case{Class: cell.Record.Trace, Name: name, Kind: string(cell.Outcome),
		Title:   fmt.Sprintf("%s: %s on %s", cell.Outcome, name, show.Printable(cell.Record.Trace)),
		Message: c.describe(cell) + ", tolerance " + j.allowed.String()}
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

// describe says in a line how a cell changed.
func (c *Comparison) describe(cell *Cell) string {
	m := c.exact(cell.Estimate)
	text := fmt.Sprintf("%s %s → %s (%s", m.Label(), m.Text(cell.Old), m.Text(cell.New),
		m.DifferenceText(cell.Difference))
	if cell.Margin > 0 {
		text += " ± " + strings.TrimPrefix(m.DifferenceText(cell.Margin), "+")
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

// undecided counts the ties that are beyond their tolerance.
func (c *Comparison) undecided(v *Versus) (n int) {
	for i := range v.Cells {
		if j := c.judge(&v.Cells[i]); j.beyond && !j.fails {
			n++
		}
	}
	return n
}

// gateSummary says in a line how many cells of a comparison fail.
func (c *Comparison) gateSummary(v *Versus) string {
	failed := 0
	for i := range v.Cells {
		if c.judge(&v.Cells[i]).fails {
			failed++
		}
	}
	text := fmt.Sprintf("%s against %s: %d of %s %s by more than allowed", v.New, v.Old, failed,
		show.Counted(len(v.Cells), "cell"), c.gate.verb())
	if n := c.undecided(v); n > 0 {
		text += fmt.Sprintf("; %d more may have, within their intervals", n)
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
	const mostNamed = 10
	text := fmt.Sprintf("the comparison failed: %s %s by more than allowed: %s", show.Counted(len(failing), "cell"),
		c.gate.verb(), strings.Join(failing[:min(mostNamed, len(failing))], "; "))
	if more := len(failing) - mostNamed; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return checks.Failed(errors.New(text))
}

// CheckFormat refuses a format of test cases where no cell can fail.
func (g Gate) CheckFormat(format string, others []string) error {
	if g.FailIf != "" || !slices.Contains(checks.Formats, format) {
		return nil
	}
	return fmt.Errorf("--format %s needs --tolerance, to say which cells moved; add it (exact allows no change), or use "+
		"one of %s", format, suggest.List(others))
}

// printCases writes a test case or an annotation per cell.
func (c *Comparison) printCases(w io.Writer, format string) error {
	return checks.Print(w, format, c.suites(), func(w io.Writer) error { return c.printTables(w, "markdown", 0) })
}
