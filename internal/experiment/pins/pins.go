// Package pins holds what the claims of an experiment measured when somebody last looked, and finds what has moved
// since: upwards as well as downwards, whether a claim holds or not. NAME.pins.tsv beside an experiment NAME.yaml has
// the values; `cachesim reproduce --pin` writes it.
package pins

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/internal/experiment/claims"
)

// ofRecords is the quantity of the digest of the records without random choices, which belongs to no claim.
const ofRecords = "records"

// pin is a line of the file: one quantity of one claim, in the full or the quick version of the experiment.
type pin struct {
	Version string // "full" or "quick"
	Claim   string // its text; "" for the records
	Of      string // what was measured
	Value   string // a number, or the digest of the records
	Band    string // how far the number may move: half its 95% interval between seeds; 0 where it is exact
	Set     string // the version of the program that measured it
	On      string // the date
	Moved   string // earlier values: "2026-11-29: 0.51 to 0.48, because ..."; "" if it never moved
}

var columns = []string{"version", "claim", "of", "value", "band", "set by", "on", "moved"}

func (p *pin) fields() []*string {
	return []*string{&p.Version, &p.Claim, &p.Of, &p.Value, &p.Band, &p.Set, &p.On, &p.Moved}
}

// Pins are those of one experiment. The zero value has none.
type Pins struct{ pins []pin }

// Read reads a file of pins. Errors name the line.
func Read(r io.Reader) (p Pins, err error) {
	table := csv.NewReader(r)
	table.Comma, table.FieldsPerRecord = '\t', len(columns)
	header := true
	for {
		row, err := table.Read()
		switch {
		case err == io.EOF:
			return p, nil
		case err != nil:
			return Pins{}, fmt.Errorf("pins: %w; want tab-separated %s", err, strings.Join(columns, ", "))
		case header && !slices.Equal(row, columns):
			return Pins{}, fmt.Errorf("pins: line 1 is %.80q, want the columns %s", row, strings.Join(columns, ", "))
		case header:
			header = false
			continue
		}
		var of pin
		for i, field := range of.fields() {
			*field = row[i]
		}
		if err := of.check(); err != nil {
			line, _ := table.FieldPos(0)
			return Pins{}, fmt.Errorf("pins: line %d: %w", line, err)
		}
		p.pins = append(p.pins, of)
	}
}

func (p *pin) check() error {
	if p.Version != version(true) && p.Version != version(false) {
		return fmt.Errorf("the version is %.40q, want full or quick", p.Version)
	}
	if p.Of == ofRecords && p.Claim == "" {
		return nil
	}
	for _, text := range []string{p.Value, p.Band} {
		if x, err := strconv.ParseFloat(text, 64); err != nil || math.IsInf(x, 0) || math.IsNaN(x) {
			return fmt.Errorf("%.40q is no number; let --pin write it", text)
		}
	}
	return nil
}

// Write writes what Read reads.
func (p Pins) Write(w io.Writer) error {
	table := csv.NewWriter(w)
	table.Comma = '\t'
	rows := [][]string{columns}
	for _, of := range p.pins {
		var row []string
		for _, field := range of.fields() {
			row = append(row, *field)
		}
		rows = append(rows, row)
	}
	return table.WriteAll(rows)
}

func version(quick bool) string {
	if quick {
		return "quick"
	}
	return "full"
}

// Measured is what a run of an experiment measured.
type Measured struct {
	Quick  bool
	Claims []Claim
	Digest string // of the records that no random choice of a policy decides
}

// Claim is what was measured of one claim; no quantities if it could not be checked.
type Claim struct {
	Text       string
	Quantities []claims.Quantity
}

// Of returns the pins of a run, by program on a date.
func Of(m Measured, program, on string) Pins {
	set := pin{Version: version(m.Quick), Set: program, On: on}
	of := func(claim, what, value string, band float64) pin {
		p := set
		p.Claim, p.Of, p.Value, p.Band = claim, what, value, written(band)
		return p
	}
	all := Pins{pins: []pin{of("", ofRecords, m.Digest, 0)}}
	for _, c := range m.Claims {
		for _, q := range c.Quantities {
			if !math.IsInf(q.Half, 0) && !math.IsNaN(q.Mean) && !math.IsInf(q.Mean, 0) {
				all.pins = append(all.pins, of(c.Text, q.Of, written(q.Mean), q.Half))
			}
		}
	}
	return all
}

func written(x float64) string { return strconv.FormatFloat(x, 'g', 10, 64) }

// key identifies what is pinned.
func (p *pin) key() [3]string { return [...]string{p.Version, p.Claim, p.Of} }

func (p Pins) find(key [3]string) *pin {
	if i := slices.IndexFunc(p.pins, func(q pin) bool { return q.key() == key }); i >= 0 {
		return &p.pins[i]
	}
	return nil
}

// rounding is the share of an exact value by which it may differ: it is written with ten digits.
const rounding = 1e-9

// holds reports whether a value is within the band of the pin.
func (p *pin) holds(now *pin) bool {
	if p.Value == now.Value {
		return true
	}
	was, _ := strconv.ParseFloat(p.Value, 64) // see check
	is, err := strconv.ParseFloat(now.Value, 64)
	band, _ := strconv.ParseFloat(p.Band, 64)
	return err == nil && p.Claim != "" && math.Abs(is-was) <= max(band, rounding*math.Abs(was))
}

// move says what has moved, from what to what.
func (p *pin) move(now *pin) string {
	return p.value() + " to " + now.value()
}

// value is the value with six digits, or the whole digest.
func (p *pin) value() string {
	if p.Claim == "" {
		return p.Value
	}
	return short(p.Value)
}

// short is a number with six digits, which tell values apart that a person would.
func short(number string) string {
	x, _ := strconv.ParseFloat(number, 64) // see check
	return strconv.FormatFloat(x, 'g', 6, 64)
}

// Moved says what differs from the pins in a run, one sentence each. What is pinned and was not measured is among it,
// and what was measured and is not pinned, unless nothing of this version is.
func (p Pins) Moved(m Measured) (moved []string) {
	now := Of(m, "", "")
	pinnedAny := false
	for i := range p.pins {
		was := &p.pins[i]
		if was.Version != version(m.Quick) {
			continue
		}
		pinnedAny = true
		is := now.find(was.key())
		pinned := fmt.Sprintf("pinned by %s on %s", was.Set, was.On)
		switch {
		case is == nil:
			moved = append(moved, fmt.Sprintf("%s was %s, %s, and was not measured", was.named(), was.value(), pinned))
		case was.Claim == "" && !was.holds(is):
			moved = append(moved, fmt.Sprintf("records without random choices are not those that were %s", pinned))
		case !was.holds(is):
			moved = append(moved, fmt.Sprintf("%s went from %s%s to %s, %s", was.named(), was.value(), was.band(),
				is.value(), pinned))
		}
	}
	for i := range now.pins {
		if is := &now.pins[i]; pinnedAny && p.find(is.key()) == nil {
			moved = append(moved, fmt.Sprintf("%s is %s, and has no pin", is.named(), is.value()))
		}
	}
	return moved
}

func (p *pin) named() string {
	if p.Claim == "" {
		return "the digest of the records without random choices"
	}
	return fmt.Sprintf("%s in the claim %q", p.Of, p.Claim)
}

func (p *pin) band() string {
	if p.Band == written(0) {
		return ""
	}
	return " ±" + short(p.Band)
}

// Update replaces the pins of the version that ran. A value within its band keeps its pin. One that has moved needs
// the reason why, which its line keeps. Pins of claims that the experiment no longer has go.
func (p Pins) Update(m Measured, program, on, why string) (Pins, error) {
	now := Of(m, program, on)
	var moves []string
	for i := range now.pins {
		is := &now.pins[i]
		was := p.find(is.key())
		switch {
		case was == nil:
		case was.holds(is):
			*is = *was
		default:
			move := was.move(is)
			moves = append(moves, is.named()+": "+move)
			is.Moved = strings.TrimPrefix(fmt.Sprintf("%s; %s: %s, %s", was.Moved, on, move, why), "; ")
		}
	}
	if len(moves) > 0 && why == "" {
		return Pins{}, fmt.Errorf("%s: %w:\n%s", count(moves), ErrWhy, strings.Join(moves, "\n"))
	}
	for _, of := range p.pins {
		if of.Version != version(m.Quick) {
			now.pins = append(now.pins, of)
		}
	}
	slices.SortStableFunc(now.pins, func(a, b pin) int { return cmp.Compare(a.Version, b.Version) })
	return now, nil
}

// ErrWhy is the error of pins that move without a reason.
var ErrWhy = errors.New("say why with --why")

func count(moves []string) string {
	if len(moves) == 1 {
		return "1 pin would move"
	}
	return fmt.Sprintf("%d pins would move", len(moves))
}
