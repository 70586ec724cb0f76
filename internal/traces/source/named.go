package source

import (
	"fmt"
	"slices"

	"github.com/cachesim/cachesim/internal/base/params"
)

// NamedColumn is a column of a table with a header of fixed names.
type NamedColumn struct {
	Name   string // by default
	Option string // names another column
	What   string // in words
	Needed bool   // each table has it
}

func (c NamedColumn) isName(name string) bool { return PlainName(name) == PlainName(c.Name) }

// NamedOptions returns the options that name columns; of begins their descriptions.
func NamedOptions(of string, columns []NamedColumn) (options []params.Param) {
	for _, c := range columns {
		none := " (none: ignore it)"
		if c.Needed {
			none = ""
		}
		options = append(options, params.Param{Name: c.Option, Default: "",
			Doc: fmt.Sprintf("%scolumn of the %s%s; by default one named %s", of, c.What, none, c.Name)})
	}
	return options
}

// ChooseNamed returns the index of each column, -1 where there is none. want says which columns a table has.
func (r *Rows) ChooseNamed(columns []NamedColumn, opts params.Values, want string) (indexes []int, err error) {
	for _, c := range columns {
		choice := opts.Text(c.Option)
		at, err := r.Choose(choice, []string{PlainName(c.Name)})
		switch {
		case err != nil:
			return nil, err
		case at < 0 && c.Needed:
			return nil, r.Src.Errorf("no column %s in the header: want %s", c.Name, want)
		case choice == "" && at >= 0 && slices.ContainsFunc(r.Header[at+1:], c.isName):
			return nil, r.Src.Errorf("two columns %s in the header: want one, or name it with the option %s", c.Name, c.Option)
		}
		indexes = append(indexes, at)
	}
	return indexes, nil
}

// HasNamed reports whether a header has all of the columns that each table needs.
func HasNamed(columns []NamedColumn, header []string) bool {
	return !slices.ContainsFunc(columns, func(c NamedColumn) bool {
		return c.Needed && !slices.ContainsFunc(header, c.isName)
	})
}

// FirstNames returns the cells of the first line of a table, which may be a header.
func FirstNames(head Head) (names []string) {
	if len(head.Lines) > 0 {
		for _, cell := range CutLoosely(nil, head.Lines[0], ',') {
			names = append(names, string(TrimBlanks(cell)))
		}
	}
	return names
}

// TimeOf states in the reading what the times of a column are, and returns their unit; 0 without a column.
func (r *Rows) TimeOf(column int, opts params.Values) int64 {
	if column < 0 {
		return 0
	}
	first := r.NextCell(column)
	unit := TimeUnit(opts, first)
	r.Src.Reading.Time = "time" + TimeKind(first, unit)
	return unit
}
