package series

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/records"
)

// ReadOf reads the series that belong to records in a folder, and checks the rows of each record, in each file,
// against the record's digest. It returns none if the records were read from a file or the folder contains no series:
// records may be kept without them.
func ReadOf(dir string, recs []records.Record) (rows []Row, err error) {
	for _, name := range FileNames() {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); err != nil {
			continue
		}
		if rows, err = Read(path); err != nil {
			return nil, err
		}
		byCell := ByCell(rows)
		for i := range recs {
			if r := &recs[i]; r.Series != "" && Digest(byCell[r.Cell]) != r.SeriesDigest {
				return nil, fmt.Errorf("%s: the series of record %d, %s at %s, was not written with it, or was changed; run it "+
					"again, or remove the series", path, i+1,
					show.Printable(r.Label), show.Printable(r.CapacityText))
			}
		}
	}
	return rows, nil
}
