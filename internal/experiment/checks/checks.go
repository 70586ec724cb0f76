// Package checks tells CI systems what was checked and how it ended: test cases of JUnit XML, annotations of GitHub
// Actions, and the summary of a job there.
package checks

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/filestate"
	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/base/suggest"
	"github.com/cachesim/cachesim/internal/base/terminal"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/sim"
)

const (
	JUnit  = "junit"
	GitHub = "github"
)

var Formats = []string{JUnit, GitHub}

// Rule is a value for the records that meet conditions, as users write it: CONDITIONS:VALUE, or VALUE alone for all.
// The last rule that a record meets counts.
type Rule struct {
	Text  string // as it was written
	Where []records.Condition
}

// ParseRule parses a rule; parse parses its value first.
func ParseRule(text string, parse func(value string) error) (r Rule, err error) {
	r.Text = text
	at := strings.LastIndex(text, ":") // the places before it may have colons
	if err := parse(strings.TrimSpace(text[at+1:])); err != nil || at < 0 {
		return r, err
	}
	r.Where, err = records.ParseConditions(text[:at])
	return r, err
}

// CheckFormat refuses a format about checks, and says why, if there are none.
func CheckFormat(format string, checked bool, why string, others []string) error {
	if checked || !slices.Contains(Formats, format) {
		return nil
	}
	return fmt.Errorf("--format %s %s use one of %s", format, why, suggest.List(others))
}

// MostNamed is how many failing cells an error names.
const MostNamed = 10

// Named lists the first of some things, and counts the others.
func Named(things []string, most int) string {
	text := strings.Join(things[:min(most, len(things))], "; ")
	if more := len(things) - most; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}

// FailedError says that a check failed. The program itself was used correctly.
type FailedError struct{ error }

func (e FailedError) Unwrap() error { return e.error }

// Failed marks err as the outcome of a check.
func Failed(err error) error { return FailedError{err} }

// Outcome is how a case ended.
type Outcome int

const (
	Passed  Outcome = iota
	Noted           // passed, with something to say
	Skipped         // could not be checked, which fails nothing
	Fails
	Broken // could not be checked, and that is a failure: what JUnit calls an error
)

// Case is one thing that was checked.
type Case struct {
	Class, Name string // the trace and the cell, or the experiment and the claim
	Outcome     Outcome
	Kind        string // of the outcome, in words: "moved"
	Title       string // of an annotation
	Message     string // "" where there is nothing to say
	Line        int    // of the suite's file; 0 for none
}

// NewCase returns the case of a record.
func NewCase(rec *records.Record, kind string) Case {
	name := NameOf(rec)
	return Case{Class: rec.Trace, Name: name, Kind: kind,
		Title: fmt.Sprintf("%s: %s on %s", kind, name, show.Printable(rec.Trace))}
}

// Suite is what a command checked in one file or experiment.
type Suite struct {
	Name    string
	File    string // to which annotations belong; "" for none
	Cases   []Case
	Summary string // in a line
}

// Print writes suites in one of Formats. In GitHub Actions, markdown adds to the summary of the job.
func Print(w io.Writer, format string, suites []Suite, markdown func(io.Writer) error) error {
	switch format {
	case JUnit:
		return printJUnit(w, suites)
	case GitHub:
		return errors.Join(printGitHub(w, suites), summarize(markdown))
	}
	return suggest.Unknown("format", format, Formats)
}

// summaryFile is the environment variable with the file to which a step in GitHub Actions appends Markdown.
const summaryFile = "GITHUB_STEP_SUMMARY"

func summarize(markdown func(io.Writer) error) error {
	path := os.Getenv(summaryFile)
	if path == "" {
		return nil
	}
	file, err := filestate.Append(path)
	if err != nil {
		return err
	}
	return errors.Join(markdown(file), file.Close())
}

// The elements of JUnit XML that CI systems read (https://github.com/testmoapp/junitxml).
type (
	junitSuites struct {
		XMLName xml.Name     `xml:"testsuites"`
		Suites  []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Skipped  int         `xml:"skipped,attr,omitempty"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		Failure *junitProblem `xml:"failure"`
		Error   *junitProblem `xml:"error"`
		Skipped *junitProblem `xml:"skipped"`
		Output  string        `xml:"system-out,omitempty"`
	}
	junitProblem struct {
		Type    string `xml:"type,attr,omitempty"`
		Message string `xml:"message,attr"`
	}
)

func printJUnit(w io.Writer, suites []Suite) error {
	var all junitSuites
	for _, s := range suites {
		all.Suites = append(all.Suites, s.junit())
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func (s Suite) junit() junitSuite {
	suite := junitSuite{Name: terminal.InLine(s.Name), Tests: len(s.Cases)}
	for _, c := range s.Cases {
		c.Message = terminal.Printable(c.Message)
		test := junitCase{Class: terminal.InLine(c.Class), Name: terminal.InLine(c.Name)}
		problem := &junitProblem{c.Kind, c.Message}
		switch c.Outcome {
		case Fails:
			test.Failure = problem
			suite.Failures++
		case Broken:
			test.Error = problem
			suite.Errors++
		case Skipped:
			test.Skipped = &junitProblem{Message: c.Message}
			suite.Skipped++
		default:
			test.Output = c.Message
		}
		suite.Cases = append(suite.Cases, test)
	}
	return suite
}

// commands are the workflow commands for outcomes; one that passed has none.
var commands = map[Outcome]string{Noted: "notice", Skipped: "warning", Fails: "error", Broken: "error"}

// printGitHub writes an annotation for each case that is not simply passed, and the summary of each suite. See
// https://docs.github.com/actions/reference/workflow-commands-for-github-actions.
func printGitHub(w io.Writer, suites []Suite) error {
	var lines []string
	for _, s := range suites {
		for _, c := range s.Cases {
			if command := commands[c.Outcome]; command != "" {
				lines = append(lines, fmt.Sprintf("::%s %s::%s", command, s.properties(c), escapeData(c.Message)))
			}
		}
	}
	for _, s := range suites {
		lines = append(lines, asText(s.Summary))
	}
	_, err := fmt.Fprintln(w, strings.Join(lines, "\n"))
	return err
}

// properties are where an annotation belongs, and its title.
func (s Suite) properties(c Case) string {
	var list []string
	if s.File != "" {
		list = append(list, "file="+escapeProperty(s.File))
		if c.Line > 0 {
			list = append(list, fmt.Sprintf("line=%d", c.Line))
		}
	}
	return strings.Join(append(list, "title="+escapeProperty(c.Title)), ",")
}

// asText keeps a line of the log from being read as a workflow command, in the current or the earlier form: a summary
// begins with a name that users give.
func asText(line string) string {
	return strings.NewReplacer("::", ": :", "##[", "# #[").Replace(terminal.InLine(line))
}

func escapeData(s string) string {
	return strings.NewReplacer("%", "%25", "\n", "%0A").Replace(terminal.Printable(s))
}

func escapeProperty(s string) string {
	return strings.NewReplacer("%", "%25", ":", "%3A", ",", "%2C").Replace(terminal.InLine(s))
}

// NameOf names a record among its trace's.
func NameOf(rec *records.Record) string {
	return show.Printable(rec.Label) + " at " + CapacityOf(rec) + DetailsOf(rec)
}

// DetailsOf says what distinguishes a record from others of the policy at the capacity.
func DetailsOf(rec *records.Record) (s string) {
	if rec.Axes != "" {
		s += ", " + show.Printable(strings.ReplaceAll(rec.Axes, ",", ", "))
	}
	for _, part := range rec.Parts() {
		s += ", " + show.Printable(part)
	}
	if rec.Seed != 0 && sim.DependsOnSeed(rec) {
		s += fmt.Sprintf(", seed %d", rec.Seed)
	}
	if rec.Warmup != 0 {
		s += fmt.Sprintf(", warm-up %d", rec.Warmup)
	}
	if rec.SampleRate != 1 {
		s += fmt.Sprintf(", sample %d of %s", rec.SampleSeed, show.Share(rec.SampleRate))
	}
	return s
}

// CapacityOf formats the capacity as written, with its number if that differs.
func CapacityOf(rec *records.Record) string {
	number := show.Capacity(rec.Capacity, rec.CapacityUnit)
	if !strings.HasSuffix(rec.CapacityText, "%") {
		return number
	}
	return fmt.Sprintf("%s (%s)", show.Printable(rec.CapacityText), number)
}
