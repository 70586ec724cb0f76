package experiment

import (
	"slices"

	"github.com/cachesim/cachesim/internal/experiment/claims"
	"github.com/cachesim/cachesim/internal/records"
)

// allCells marks in Changes that no cell waits for a precondition.
const allCells = "--all-cells"

// ReplayAll makes an experiment with preconditions replay all cells, whatever comes of them.
func (f *File) ReplayAll() {
	if len(f.Preconditions()) > 0 {
		f.Changes = append(f.Changes, allCells)
	}
}

// Preconditions returns the names of the claims for which cells wait that only claims use which hang on them. A quick
// version has none, since its pins guard what all claims compare.
func (f *File) Preconditions() (names Values) {
	if f.IsQuick() || slices.Contains(f.Changes, allCells) {
		return nil
	}
	for _, c := range f.Claims {
		if c.Given != "" && !slices.Contains(names, c.Given) {
			names = append(names, c.Given)
		}
	}
	return names
}

// LeftOut returns what records of the cells that Unmet leaves out would be called.
func (f *File) LeftOut() (names []records.Record, err error) {
	if len(f.Unmet) == 0 {
		return nil, nil
	}
	whole := *f
	whole.Unmet = nil
	cells, err := whole.Cells(CellOptions{})
	if err != nil {
		return nil, err
	}
	stays, err := f.stays(cells)
	for i := range cells {
		if err == nil && !stays[i] && !cells[i].Auxiliary {
			names = append(names, cells[i].names())
		}
	}
	return names, err
}

// WithoutUnmet returns those of all cells of the experiment that Unmet leaves, numbered, with their optima.
func (f *File) WithoutUnmet(all []Cell) ([]Cell, error) {
	if len(f.Unmet) == 0 {
		return all, nil
	}
	stays, err := f.stays(all)
	return numberCells(withReferences(all, stays)), err
}

// stays says which cells Unmet leaves: all but those that only claims use which hang on one of Unmet, directly or
// through others. What figures compute stays, and so do cells of no claim, which figures and tables show.
func (f *File) stays(cells []Cell) ([]bool, error) {
	var open, gated []claims.Replays
	unmet := slices.Clone(f.Unmet)
	for _, c := range f.Claims {
		of := &open
		if c.Given != "" && slices.Contains(unmet, c.Given) {
			of, unmet = &gated, append(unmet, c.Name)
		}
		for _, form := range c.Forms() {
			claim, err := claims.Parse(form)
			if err != nil {
				return nil, err
			}
			*of = append(*of, claim.Replays())
		}
	}
	for _, figure := range f.Figures {
		for _, text := range figure.Values {
			v, err := claims.ParseValue(text)
			if err != nil {
				return nil, err
			}
			open = append(open, v.Replays())
		}
	}
	stays := make([]bool, len(cells))
	names := namesOf(cells)
	for i := range cells {
		looks := func(r claims.Replays) bool { return r.Has(&names[i], f.Groups) }
		stays[i] = !cells[i].Auxiliary && (slices.ContainsFunc(open, looks) || !slices.ContainsFunc(gated, looks))
	}
	return stays, nil
}
