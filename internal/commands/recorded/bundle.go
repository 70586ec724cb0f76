package recorded

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cachesim/cachesim/internal/base/filestate"
	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/commands/commandline"
	"github.com/cachesim/cachesim/internal/commands/version"
	"github.com/cachesim/cachesim/internal/experiment/baseline"
	"github.com/cachesim/cachesim/internal/experiment/bundle"
	"github.com/cachesim/cachesim/internal/records"
)

// runBundle replays the records of all experiments of a bundle, with the traces that it has.
func (f *checkFlags) runBundle(cmd *cobra.Command, path string, rules []baseline.Rule) error {
	b, err := readBundle(path)
	if err != nil {
		return err
	}
	var recs []records.Record
	for _, e := range b.Experiments {
		of, err := b.Records(e)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		name := path + ": " + e.Records
		commandline.Note(cmd, f.quiet, records.WithoutDigest(name, of))
		commandline.Note(cmd, f.quiet, records.Incomplete(name, of))
		recs = append(recs, of...)
	}
	if slices.ContainsFunc(b.Traces, func(t bundle.Trace) bool { return t.Packed }) {
		folder, err := os.MkdirTemp("", "cachesim-bundle")
		if err != nil {
			return err
		}
		defer os.RemoveAll(folder)
		if err := b.Unpack(folder); err != nil {
			return err
		}
		f.unpacked = filepath.Join(folder, bundle.FormsDir)
		fromArchive(recs, b.Traces, folder)
	}
	commandline.Note(cmd, f.quiet, fmt.Sprintf("%s: %s, packed by cachesim %s (%s); this is %s (%s)", path,
		show.Counted(len(b.Experiments), "experiment"), show.Printable(b.Program), show.Printable(b.Go), version.Program(),
		runtime.Version()))
	report, err := f.compare(cmd, path, recs, rules)
	if err != nil {
		return err
	}
	report.Fixed = true
	for _, text := range wanted(b, report) {
		commandline.Note(cmd, f.quiet, text)
	}
	return report.Err()
}

// fromArchive lets records replay the files of packed traces, whatever has their names here.
func fromArchive(recs []records.Record, traces []bundle.Trace, unpacked string) {
	for i := range recs {
		for _, t := range traces {
			if t.Packed && recs[i].TraceChecksum == t.Checksum && recs[i].TraceFiles == strings.Join(t.Files, "\n") {
				recs[i].TraceFiles = strings.Join(t.Places(unpacked), "\n")
			}
		}
	}
}

func readBundle(path string) (*bundle.Bundle, error) {
	file, err := filestate.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return bundle.Read(path, filestate.Reader(file, path))
}

// wanted says where the traces can be had that are missing here, or are others.
func wanted(b *bundle.Bundle, report *baseline.Report) (texts []string) {
	for _, t := range b.Traces {
		for _, r := range report.Results {
			if r.Was.Trace != t.Name || r.Was.TraceChecksum != t.Checksum ||
				r.Status != baseline.TraceMissing && r.Change == nil {
				continue
			}
			text := fmt.Sprintf("%s: %s, with the checksum %s, is from %s", show.Printable(t.Name),
				show.Printable(strings.Join(t.Files, ", ")), show.Printable(t.Checksum), show.Printable(t.Source))
			if t.Licence != "" {
				text += fmt.Sprintf(" (licence: %s)", show.Printable(t.Licence))
			}
			texts = append(texts, text)
			break
		}
	}
	return texts
}
