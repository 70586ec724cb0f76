package read

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/prompts"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// Bounds of the search for a better key.
const (
	fewestUnrepeated = 200    // requests without a repetition that are worth the search
	candidateRows    = 20_000 // looked at in each column
	namedCandidates  = 3      // columns named in the warning
)

// warnOfKeys says that no key of the trace repeats, unless the run needs embeddings, for which similar keys are enough.
func (l *loader) warnOfKeys(t *traces.Trace) {
	if l.opts.Embeddings || prompts.IsLengthsOnly(t.Kind) || !neverRepeats(t) {
		return
	}
	warning := noRepetition + ", so that no cache can hit"
	can := ""
	if l.fields.Kind != nil {
		can = l.fields.Kind.Unrepeated()
	}
	switch {
	case can != "":
		warning = noRepetition + ", so that only " + can + " can hit"
	case len(t.Objects) >= fewestUnrepeated && len(t.Readings[0].Others) > 0:
		warning = keyWarning(l.ctx, l.paths[0], t.Readings[0], l.opts)
	}
	t.Warnings = append(t.Warnings, warning)
}

const noRepetition = "no key ever repeats"

// neverRepeats reports whether no object is requested twice in any of the files that are replayed one by one. A single
// request cannot repeat anything.
func neverRepeats(t *traces.Trace) bool {
	if len(t.Objects) < 2 {
		return false
	}
	if len(t.Starts) < 2 {
		return t.NumObjects == len(t.Objects)
	}
	in := make([]int, t.NumObjects) // the last file with the object, from 1
	for n, part := range t.Parts() {
		for _, o := range part.Objects {
			if in[o] == n+1 {
				return false
			}
			in[o] = n + 1
		}
	}
	return true
}

// keyWarning says that no key repeats in a file, and which other columns could be the key. A pipe cannot be read again
// to find out.
func keyWarning(ctx context.Context, path string, r stream.Reading, opts Options) string {
	s := noRepetition + " in column " + strconv.Quote(strings.TrimPrefix(strings.TrimPrefix(r.Key, "key "), "column "))
	if !isRegular(path) {
		names := strings.Join(r.Others[:min(len(r.Others), namedCandidates)], ", ")
		return fmt.Sprintf("%s; if another holds the key (%s): --input-format %s:key=NAME", s, names, r.Format)
	}
	better := betterColumns(ctx, path, r, opts)
	if len(better) == 0 {
		return s + ", and no other column looks like keys, so that no cache can hit"
	}
	s += fmt.Sprintf("; %q does", better[0])
	for _, name := range better[1:min(len(better), namedCandidates)] {
		s += fmt.Sprintf(", and %q", name)
	}
	return fmt.Sprintf("%s: --input-format %s:key=%s", s, r.Format, better[0])
}

func isRegular(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// betterColumns returns the unread columns in which keys repeat, best first: known names before others, then the column
// with more keys.
func betterColumns(ctx context.Context, path string, r stream.Reading, opts Options) []string {
	type candidate struct {
		column   string
		known    int // index among the known names
		distinct int
	}
	var found []candidate
	for _, column := range r.Others {
		rows, distinct := countKeys(ctx, path, r.Format+":key="+params.Quote(column), opts)
		name := source.PlainName(column[strings.LastIndexByte(column, '.')+1:])
		if distinct < 2 || distinct == rows || // as unrepeated as the key, or no key
			source.IsFormatWord(name) && !slices.Contains(source.KeyNames, name) {
			continue
		}
		known := slices.Index(source.KeyNames, name)
		if known < 0 {
			known = len(source.KeyNames)
		}
		found = append(found, candidate{column, known, distinct})
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return cmp.Or(a.known-b.known, b.distinct-a.distinct) })
	var columns []string
	for _, c := range found {
		columns = append(columns, c.column)
	}
	return columns
}

// countKeys counts rows at the beginning of a file, which it opens again, and the keys in them. It returns zeros if
// they cannot be read.
func countKeys(ctx context.Context, path, format string, opts Options) (rows, distinct int) {
	keysAlone := Options{
		Selection: Selection{Format: format + ",time=none,size=none,op=none,ttl=none,served=none"}, Memory: opts.Memory,
	}
	opened, err := open(ctx, path, keysAlone, new(source.Together))
	if err != nil {
		return 0, 0
	}
	defer opened.Close()
	seen := stream.NewNumbering()
	var rec stream.Record
	for rows = 0; rows < candidateRows && ctx.Err() == nil; rows++ {
		if opened.Read(&rec) != nil {
			break
		}
		seen.OfRecord(&rec)
	}
	return rows, seen.Len()
}
