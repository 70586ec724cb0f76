package files

import (
	"fmt"
	"slices"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/traces/source"
)

// ChosenColumns are the indexes of the columns of a table of reads, -1 where there is none.
type ChosenColumns struct{ Path, Offset, Length, Time, Job, FileSize int }

type tableColumn struct {
	name   string // by default
	option string // names another column
	what   string // in words
	index  func(*ChosenColumns) *int
}

// tableColumns are the columns of a table. The first three are required.
var tableColumns = []tableColumn{
	{"path", "path", "path of the file", func(c *ChosenColumns) *int { return &c.Path }},
	{"offset", "offset", "first byte of the read", func(c *ChosenColumns) *int { return &c.Offset }},
	{"length", "length", "bytes of the read", func(c *ChosenColumns) *int { return &c.Length }},
	{"time", "time", "time", func(c *ChosenColumns) *int { return &c.Time }},
	{"job", "job-column", "job", func(c *ChosenColumns) *int { return &c.Job }},
	{"file_size", "file-size", "size of the file in bytes", func(c *ChosenColumns) *int { return &c.FileSize }},
}

// neededColumns is how many of the columns are always there.
const neededColumns = 3

// tableBlock is the size of a block in KiB, unless the option says another.
const tableBlock = 4096

// Options returns the options of all formats of tables of reads. otherwise is the default job.
func Options(otherwise string) []params.Param {
	return []params.Param{blockOption(tableBlock), filesOption(), jobOption(otherwise)}
}

// ColumnOptions returns the options that name the columns of a table of reads, except the time.
func ColumnOptions() (options []params.Param) {
	for i, c := range tableColumns {
		none := ""
		if i >= neededColumns {
			none = " (none: ignore it)"
		}
		if c.option != "time" {
			options = append(options, params.Param{Name: c.option, Default: "",
				Doc: fmt.Sprintf("of reads, column of the %s%s; by default one named %s", c.what, none, c.name)})
		}
	}
	return options
}

func HasReads(header []string) bool {
	return !slices.ContainsFunc(tableColumns[:neededColumns], func(c tableColumn) bool {
		return !slices.ContainsFunc(header, isColumn(c.name))
	})
}

// isColumn matches a column of the header with a name, whatever the case, blanks and punctuation.
func isColumn(name string) func(header string) bool {
	return func(header string) bool { return source.PlainName(header) == source.PlainName(name) }
}

// ChooseColumns finds the columns of reads that options name, or else those with the default names.
func ChooseColumns(rows *source.Rows, opts params.Values) (chosen ChosenColumns, err error) {
	for i, c := range tableColumns {
		choice := opts.Text(c.option)
		at, err := rows.Choose(choice, []string{source.PlainName(c.name)})
		switch {
		case err != nil:
			return chosen, err
		case at < 0 && i < neededColumns:
			return chosen, rows.Src.Errorf("no column %s in the header: want path, offset, length and, if known, time, job "+
				"and file_size; options of these names (job-column, file-size) name others", c.name)
		case choice == "" && at >= 0 && slices.ContainsFunc(rows.Header[at+1:], isColumn(c.name)):
			return chosen, rows.Src.Errorf("two columns %s in the header: want one, or name it with the option %s", c.name,
				c.option)
		}
		*c.index(&chosen) = at
	}
	return chosen, nil
}
