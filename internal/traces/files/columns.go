package files

import (
	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/traces/source"
)

// ChosenColumns are the indexes of the columns of a table of reads, -1 where there is none.
type ChosenColumns struct{ Path, Offset, Length, Job, FileSize, Time int }

// tableColumns are the columns of a table, in the order of ChosenColumns.
var tableColumns = []source.NamedColumn{
	{Name: "path", Option: "path", What: "path of the file", Needed: true},
	{Name: "offset", Option: "offset", What: "first byte of the read", Needed: true},
	{Name: "length", Option: "length", What: "bytes of the read", Needed: true},
	{Name: "job", Option: "job-column", What: "job"},
	{Name: "file_size", Option: "file-size", What: "size of the file in bytes"},
	{Name: "time", Option: "time", What: "time"},
}

// tableBlock is the size of a block in KiB, unless the option says another.
const tableBlock = 4096

// Options returns the options of all formats of tables of reads. otherwise is the default job.
func Options(otherwise string) []params.Param {
	return []params.Param{blockOption(tableBlock), filesOption(), jobOption(otherwise)}
}

// ColumnOptions returns the options that name the columns of a table of reads, except the time.
func ColumnOptions() []params.Param {
	return source.NamedOptions("of reads, ", tableColumns[:len(tableColumns)-1])
}

func HasReads(header []string) bool { return source.HasNamed(tableColumns, header) }

// ChooseColumns finds the columns of reads that options name, or else those with the default names.
func ChooseColumns(rows *source.Rows, opts params.Values) (ChosenColumns, error) {
	at, err := rows.ChooseNamed(tableColumns, opts, "path, offset, length and, if known, time, job and file_size; "+
		"options of these names (job-column, file-size) name others")
	if err != nil {
		return ChosenColumns{}, err
	}
	return ChosenColumns{at[0], at[1], at[2], at[3], at[4], at[5]}, nil
}
