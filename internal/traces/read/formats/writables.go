package formats

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/suggest"
	"github.com/cachesim/cachesim/internal/traces/files"
	"github.com/cachesim/cachesim/internal/traces/read/parquet"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// writables lists every format that can be written.
var writables = slices.Concat(plainWritables, ofKinds(func(k kind) []source.Writable { return k.writes }))

// plainWritables are the writable formats of plain objects. To add one, write a source.RecordWriter and a line here.
var plainWritables = []source.Writable{
	{Name: "csv", Endings: []string{".csv"}, Create: newCSVWriter,
		Holds: stream.Fields{Time: true, Size: true, Op: true, TTL: true, Served: true}},
	{Name: "plain", Endings: []string{".txt", ".keys", ".plain"}, Create: newPlainWriter},
	{Name: "batches", Endings: []string{".batches"}, Create: newBatchesWriter, Holds: stream.Fields{Groups: true}},
	{Name: "oraclegeneral", Endings: []string{".oraclegeneral", ".oraclegeneral.bin"}, Create: newOracleGeneralWriter,
		Holds: stream.Fields{Time: true, Size: true}, Fills: true},
	{Name: "parquet", Endings: []string{".parquet"}, Create: parquet.NewWriter,
		Holds: stream.Fields{Time: true, Size: true, Op: true, TTL: true, Served: true}, Tables: true, Vectors: true,
		Kind: files.Kind{}.Name()},
}

// WritableNames returns the names of the formats that Create writes.
func WritableNames() []string {
	var names []string
	for _, f := range writables {
		names = append(names, f.Name)
	}
	return names
}

// Fullest returns the name of the text format that keeps most of the given fields.
func Fullest(fields stream.Fields) string {
	switch {
	case fields.Kind != nil:
		return fields.Kind.Format()
	case fields.Groups:
		return "batches"
	}
	return "csv"
}

// ChooseWritable returns the format of that name, or the one that the path implies. If several have that ending, it is
// the one for such records.
func ChooseWritable(path, name string, fields stream.Fields) (source.Writable, error) {
	told, err := told(path, name)
	if err != nil {
		return source.Writable{}, err
	}
	fullest := Fullest(fields)
	if i := slices.IndexFunc(told, func(f source.Writable) bool { return f.Name == fullest }); i >= 0 {
		return told[i], nil
	}
	return told[0], nil
}

// told returns the format of that name, or at least one format that the ending of the path implies.
func told(path, name string) (told []source.Writable, err error) {
	stem := source.StrippedName(path)
	for _, f := range writables {
		if f.Name == name {
			return []source.Writable{f}, nil
		}
		if slices.ContainsFunc(f.Endings, func(ending string) bool { return strings.HasSuffix(stem, ending) }) {
			told = append(told, f)
		}
	}
	if name != "" {
		return nil, suggest.Unknown("output format", name, WritableNames())
	}
	if len(told) == 0 {
		return nil, fmt.Errorf("%s: the name does not imply a format to write: give it an ending like .csv.zst, or "+
			"--output-format %s", path, strings.Join(WritableNames(), ", "))
	}
	return told, nil
}

// StatesAllSizes reports whether the format that Create would write to path (name, if it is not "") needs the size of
// each request.
func StatesAllSizes(path, name string) bool {
	if path == "-" && name == "" {
		return false
	}
	told, err := told(path, name)
	return err == nil && told[0].Fills
}

// CheckHoldsEmbeddings returns an error if the format that Create would write to path (name, if it is not "") has no
// place for the embeddings of requests.
func CheckHoldsEmbeddings(path, name string) error {
	if path == "-" && name == "" {
		return nil // to a pipe goes the fullest format
	}
	told, err := told(path, name)
	switch {
	case err == nil && slices.ContainsFunc(told, func(f source.Writable) bool { return f.Vectors }):
		return nil
	case err == nil && name != "":
		return fmt.Errorf("the format %s has no place for embeddings", name)
	}
	var endings []string
	for _, f := range writables {
		if f.Vectors {
			endings = append(endings, f.Endings...)
		}
	}
	return fmt.Errorf("%s: want a name that implies a format with embeddings: %s", path, strings.Join(endings, ", "))
}
