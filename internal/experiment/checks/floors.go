package checks

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/records"
)

// FloorFlag is the flag whose values are Floors.
const FloorFlag = "min-hit-ratio"

const FloorUsage = "exit with 1 if a row has a lower hit ratio: 60% or 0.6; for some rows with conditions, as in " +
	"policy=s3fifo,capacity=10%:65%, admission=second:50% or tenant=web:70%; the last that matches a row counts; " +
	"repeatable"

// Floors are the hit ratios that records must reach. They are the value of a repeatable flag. It implements pflag.Value
// and pflag.SliceValue.
type Floors struct{ list []floor }

// floor is the hit ratio that the records at some places must reach.
type floor struct {
	Rule
	least float64
	text  string // of least
}

// parseFloor parses "60%", "0.6" or "policy=lru:60%".
func parseFloor(text string) (f floor, err error) {
	f.Rule, err = ParseRule(text, func(value string) (err error) {
		f.text = value
		number, isPercent := strings.CutSuffix(value, "%")
		f.least, err = strconv.ParseFloat(strings.TrimSpace(number), 64)
		if isPercent {
			f.least /= 100
		}
		if err != nil || !(f.least >= 0 && f.least <= 1) { // as NaN is
			err = fmt.Errorf("%q is no hit ratio; want 60%% or 0.6, and conditions before a colon: policy=lru:60%%", value)
		}
		return err
	})
	return f, err
}

func (f *Floors) Set(text string) error { return f.Append(text) }
func (f *Floors) Type() string          { return "RATIO" }
func (f *Floors) String() string        { return strings.Join(f.GetSlice(), " ") }

func (f *Floors) Append(text string) error {
	parsed, err := parseFloor(text)
	f.list = append(f.list, parsed)
	return err
}

func (f *Floors) Replace(texts []string) error {
	f.list = nil
	for _, text := range texts {
		if err := f.Append(text); err != nil {
			return err
		}
	}
	return nil
}

func (f *Floors) GetSlice() (texts []string) {
	for _, floor := range f.list {
		texts = append(texts, floor.Text)
	}
	return texts
}

// CheckFormat refuses a format about floors if there are none.
func (f *Floors) CheckFormat(format string, others []string) error {
	return CheckFormat(format, len(f.list) > 0, "says which rows reach --"+FloorFlag+"; add that flag, or", others)
}

// CheckNames refuses floors for places that none of the future records has. Capacities are known as they were written;
// their numbers are not, and are left to Judge, as are the labels of tenants and of --by.
func (f *Floors) CheckNames(names []records.Record) error {
	for _, floor := range f.list {
		floor.Where = slices.DeleteFunc(slices.Clone(floor.Where), func(c records.Condition) bool {
			return c.Dimension == records.DimCapacity || c.IsLabelled(names[0].By)
		})
		if err := floor.check(names); err != nil {
			return err
		}
	}
	return nil
}

// check refuses a floor that matches no row, because that is probably a mistake.
func (f floor) check(recs []records.Record) error {
	var all []records.Record
	conditions := f.Where
	for i := range recs {
		rows, where := recs[i].Rows(f.Where, metric.HitRatio.Name)
		for _, row := range rows {
			if row.Meets(where) {
				return nil
			}
			all = append(all, row.Record)
			if row.Metric != metric.HitRatio.Name {
				conditions = where
			}
		}
	}
	if err := records.CheckRows(conditions, all); err != nil {
		return fmt.Errorf("--%s %q: %w", FloorFlag, f.Text, err)
	}
	return fmt.Errorf("--%s %q matches no row: none meets all conditions at once", FloorFlag, f.Text)
}

// Judged says which records reach their floors.
type Judged struct {
	suite   Suite
	without int      // records without a floor
	failing []string // what is wrong with each record that does not
	mistake error    // a floor that matches none
}

// Judge compares records with their floors: the last one that matches each. Some of the records are missing if partial
// is set; a floor may then match none.
func (f *Floors) Judge(recs []records.Record, partial bool) *Judged {
	j := &Judged{}
	for _, floor := range f.list {
		if err := floor.check(recs); err != nil && !partial && j.mistake == nil {
			j.mistake = err
		}
	}
	for i := range recs {
		if j.suite.Name == "" {
			j.suite.Name = recs[i].Trace
		}
		before := len(j.suite.Cases)
		j.judge(&recs[i], f.list)
		if len(j.suite.Cases) == before {
			j.without++
		}
	}
	j.suite.Summary = show.Printable(j.suite.Name) + ": " + j.summary()
	return j
}

// rounding is a bound on the rounding error of 57.2% as a share.
const rounding = 1e-12

// judge adds a case for each row of a record that has a floor.
func (j *Judged) judge(rec *records.Record, floors []floor) {
	role, _ := records.RoleOf(rec.Policy)
	judged := map[string]bool{}
	for _, floor := range slices.Backward(floors) {
		rows, where := rec.Rows(floor.Where, metric.HitRatio.Name)
		for _, row := range rows {
			name := row.Metric + " " + row.Axes
			if judged[name] || !row.Meets(where) || role.Idle && len(where) == 0 { // no cache has no hits
				continue
			}
			judged[name] = true
			j.add(row, floor)
		}
	}
}

func (j *Judged) add(row records.Row, least floor) {
	rec := &row.Record
	is, has := rec.Get(row.Metric)
	fails := !has || !(is >= least.least-rounding)
	percent := math.Round(is*1e6) / 1e4
	if fails && percent >= least.least*100 { // 59.99999% is not shown as 60%
		percent = math.Floor(is*1e6) / 1e4
	}
	c := NewCase(rec, "below --"+FloorFlag)
	c.Message = fmt.Sprintf("hit ratio %.4f%%, want at least %s", percent, least.text)
	if fails {
		c.Outcome = Fails
		j.failing = append(j.failing, c.Name+" has "+strings.TrimPrefix(c.Message, "hit ratio "))
	}
	j.suite.Cases = append(j.suite.Cases, c)
}

// summary counts the records that reach their floors.
func (j *Judged) summary() string {
	judged := len(j.suite.Cases)
	text := fmt.Sprintf("%d of %d rows reach --%s", judged-len(j.failing), judged, FloorFlag)
	if j.without > 0 {
		text += fmt.Sprintf("; %d more have none", j.without)
	}
	return text
}

// Remark says which records reach their floors; "" if there are no floors.
func (j *Judged) Remark() string {
	switch err := j.Err(); {
	case err != nil:
		return err.Error()
	case len(j.suite.Cases) == 0:
		return ""
	}
	return j.summary()
}

// Print writes what was judged in one of Formats. In GitHub Actions, markdown adds to the summary of the job.
func (j *Judged) Print(w io.Writer, format string, markdown func(io.Writer) error) error {
	return Print(w, format, []Suite{j.suite}, func(w io.Writer) error {
		if err := markdown(w); err != nil {
			return err
		}
		lines := append(slices.Clone(j.failing), j.suite.Summary)
		_, err := fmt.Fprintf(w, "\n- %s\n", strings.Join(lines, "\n- "))
		return err
	})
}

// Err returns why the check failed: nil if all records reach their floors.
func (j *Judged) Err() error {
	switch {
	case j.mistake != nil:
		return j.mistake
	case len(j.failing) == 0:
		return nil
	}
	return Failed(fmt.Errorf("the check failed: %d of %d rows are below --%s: %s", len(j.failing), len(j.suite.Cases),
		FloorFlag, Named(j.failing, MostNamed)))
}
