package baseline

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/cachesim/cachesim/internal/jsonlines"
	"github.com/cachesim/cachesim/internal/records"
)

// jsonReport is a Report as JSON.
type jsonReport struct {
	Baseline  string         `json:"baseline"`
	Version   string         `json:"version"`
	Passed    bool           `json:"passed"`
	Records   int            `json:"records"`
	Counts    map[Status]int `json:"counts"` // for every status that occurs
	NewTraces []string       `json:"new_traces,omitempty"`
	Results   []jsonResult   `json:"results"`
}

// jsonResult is a Result as JSON.
type jsonResult struct {
	Trace        string       `json:"trace"`
	Policy       string       `json:"policy"` // its label
	Capacity     int64        `json:"capacity"`
	CapacityUnit string       `json:"capacity_unit"`
	CapacityText string       `json:"capacity_text"`
	Seed         uint64       `json:"seed"`
	Axes         string       `json:"axes"`
	Status       Status       `json:"status"`
	Tolerance    string       `json:"tolerance"`
	Problem      string       `json:"problem,omitempty"`
	Differences  []Difference `json:"differences"`
}

func (r *Report) printJSON(w io.Writer) error {
	out := jsonReport{
		Baseline:  r.Baseline,
		Version:   r.Version,
		Passed:    r.Passed(),
		Records:   len(r.Results),
		Counts:    map[Status]int{},
		NewTraces: r.NewTraces,
	}
	for _, result := range r.Results {
		out.Counts[result.Status]++
		j := jsonResult{
			Trace:        result.Was.Trace,
			Policy:       result.Was.Label,
			Capacity:     result.Was.Capacity,
			CapacityUnit: result.Was.CapacityUnit,
			CapacityText: result.Was.CapacityText,
			Seed:         result.Was.Seed,
			Axes:         result.Was.Axes,
			Status:       result.Status,
			Tolerance:    result.Tolerance.String(),
			Differences:  result.Differences,
		}
		if result.Problem != nil {
			j.Problem = result.Problem.Error()
		}
		if j.Differences == nil {
			j.Differences = []Difference{}
		}
		out.Results = append(out.Results, j)
	}
	e := jsonlines.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(out)
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
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		Failure *junitProblem `xml:"failure"`
		Error   *junitProblem `xml:"error"`
		Output  string        `xml:"system-out,omitempty"`
	}
	junitProblem struct {
		Type    string `xml:"type,attr"`
		Message string `xml:"message,attr"`
	}
)

// printJUnit writes a suite with one case per record. A changed record is a failure; a record that could not be
// replayed is an error.
func (r *Report) printJUnit(w io.Writer) error {
	suite := junitSuite{Name: r.Baseline, Tests: len(r.Results)}
	for i := range r.Results {
		result := &r.Results[i]
		c := junitCase{Class: result.Was.Trace, Name: cell(&result.Was)}
		switch result.Status {
		case Moved, TraceChanged, FileChanged:
			c.Failure = &junitProblem{string(result.Status), result.describe()}
			suite.Failures++
		case TraceMissing, NotReplayable:
			c.Error = &junitProblem{string(result.Status), result.describe()}
			suite.Errors++
		case Within:
			c.Output = result.describe()
		}
		suite.Cases = append(suite.Cases, c)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(junitSuites{Suites: []junitSuite{suite}}); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// printGitHub writes an error for each failed record, a notice for each record within its tolerance, and the summary.
// See https://docs.github.com/actions/reference/workflow-commands-for-github-actions.
func (r *Report) printGitHub(w io.Writer) error {
	var lines []string
	for i := range r.Results {
		result := &r.Results[i]
		command := "error"
		switch result.Status {
		case Equal:
			continue
		case Within:
			command = "notice"
		}
		title := fmt.Sprintf("%s: %s on %s", result.Status, cell(&result.Was), records.Printable(result.Was.Trace))
		lines = append(lines, fmt.Sprintf("::%s file=%s,title=%s::%s",
			command, escapeProperty(r.Baseline), escapeProperty(title), escapeData(result.describe())))
	}
	_, err := fmt.Fprintln(w, strings.Join(append(lines, r.Summary()), "\n"))
	return err
}

// escapeData escapes the message of a workflow command.
func escapeData(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s)
}

// escapeProperty escapes a property of a workflow command.
func escapeProperty(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C").Replace(s)
}
