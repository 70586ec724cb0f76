// Package formats lists every trace format that can be read or written, detects the format of a file, and has the
// readers and writers of plain objects.
package formats

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/suggest"
	"github.com/cachesim/cachesim/internal/traces/attention"
	"github.com/cachesim/cachesim/internal/traces/files"
	"github.com/cachesim/cachesim/internal/traces/prompts"
	"github.com/cachesim/cachesim/internal/traces/queries"
	"github.com/cachesim/cachesim/internal/traces/read/agentlogs"
	"github.com/cachesim/cachesim/internal/traces/read/binlogs"
	"github.com/cachesim/cachesim/internal/traces/read/blocklogs"
	"github.com/cachesim/cachesim/internal/traces/read/datasets"
	"github.com/cachesim/cachesim/internal/traces/read/jsonlogs"
	"github.com/cachesim/cachesim/internal/traces/read/kvlogs"
	"github.com/cachesim/cachesim/internal/traces/read/parquet"
	"github.com/cachesim/cachesim/internal/traces/read/promptlogs"
	"github.com/cachesim/cachesim/internal/traces/read/promptlogs/lengths"
	"github.com/cachesim/cachesim/internal/traces/read/regexlogs"
	"github.com/cachesim/cachesim/internal/traces/read/weblogs"
	"github.com/cachesim/cachesim/internal/traces/recommender"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// kind is a kind of workload beyond plain objects, with its formats.
type kind struct {
	kind   stream.Kind
	reads  []source.Format
	group  string // of further formats that are read
	writes []source.Writable
}

var kinds = []kind{
	{prompts.Kind{}, slices.Concat(promptlogs.Formats, lengths.Formats, agentlogs.Formats), "",
		[]source.Writable{mooncakeWritable}},
	{queries.Kind{}, queries.Formats, "", queries.Writables},
	{files.Kind{}, files.Formats, "devices", files.Writables},
	{recommender.Kind{}, recommender.Formats, "", recommender.Writables},
}

// formats lists every format that can be read, in the order in which `cachesim formats` prints them.
func formats() []source.Format { return append(slices.Clip(builtIn()), registered...) }

// registered are the formats of programs that import this one.
var registered []source.Format

// Register adds formats. It panics if one has the name of another. It must not be called while others are used.
func Register(all ...source.Format) {
	for _, f := range all {
		if slices.Contains(Names(), f.Name) {
			panic(fmt.Sprintf("formats: two trace formats are called %s", f.Name))
		}
		registered = append(registered, f)
	}
}

var builtIn = sync.OnceValue(func() []source.Format {
	return slices.Concat(
		plainFormats,
		weblogs.Formats,
		groups()["web"],
		kvlogs.Formats,
		groups()["stores"],
		groups()["cdn"],
		jsonlogs.Formats,
		groups()["json"],
		regexlogs.Formats,
		blocklogs.Memory,
		binlogs.Formats,
		ofKinds(func(k kind) []source.Format { return slices.Concat(k.reads, groups()[k.group]) }),
		datasets.Formats,
		attention.Formats,
	)
})

func ofKinds[T any](list func(kind) []T) (all []T) {
	for _, k := range kinds {
		all = append(all, list(k)...)
	}
	return all
}

var plainFormats = []source.Format{
	csvFormat,
	plainFormat,
	arcFormat,
	batchesFormat,
	lirsFormat,
	seqIDSizeFormat,
	ratingFormat,
	cacheLibFormat,
	oracleGeneralFormat,
	binlogs.VSCSI,
	parquet.Format(ofKinds(func(k kind) []stream.Kind { return []stream.Kind{k.kind} })), // holds every kind
}

// All returns every format that can be read.
func All() []source.Format { return explained(slices.Clone(formats())) }

// Names returns the names of all formats, in the order of All.
func Names() []string { return namesOf(formats()) }

// Check refuses a value that read.Options.Format does not accept. A file of a format is read with the trace.
func Check(spec string) error {
	if _, _, ok := cutFile(spec); ok || spec == "" {
		return nil
	}
	_, _, err := parseFormat(spec)
	return err
}

// parseFormat reads "NAME" or "NAME:option=value,option=value" and fills in the defaults.
func parseFormat(spec string) (source.Format, params.Values, error) {
	name, settings, _ := strings.Cut(spec, ":")
	all := formats()
	i := slices.IndexFunc(all,
		func(f source.Format) bool { return f.Name == strings.ToLower(strings.TrimSpace(name)) })
	if i < 0 {
		return source.Format{}, nil, suggest.Unknown("trace format", name, Names())
	}
	opts, err := params.ParseArgs(all[i].Options, settings)
	if err != nil {
		return source.Format{}, nil, fmt.Errorf("trace format %s: %w", all[i].Name, err)
	}
	return all[i], opts, nil
}

// FixesSeed reports whether a seed for the format would change nothing: spec sets one, or the format makes no random
// choice. A format that is to be detected makes none, nor does an unknown one.
func FixesSeed(spec string) bool {
	if _, _, ok := cutFile(spec); ok {
		return true
	}
	format, _, err := parseFormat(spec)
	_, settings, _ := strings.Cut(spec, ":")
	return err != nil || params.Has(settings, seedOption) ||
		!slices.ContainsFunc(format.Options, func(p params.Param) bool { return p.Name == seedOption })
}

// seedOption is the option that all formats with random choices have.
const seedOption = "seed"

// Seeded returns a format that gets this seed, unless it has its own or makes no random choice.
func Seeded(spec string, seed uint64) string {
	if FixesSeed(spec) {
		return spec
	}
	separator := ","
	if name, settings, _ := strings.Cut(spec, ":"); strings.TrimSpace(settings) == "" {
		spec, separator = name, ":"
	}
	return fmt.Sprintf("%s%s%s=%d", spec, separator, seedOption, seed)
}

// FilesOf returns the paths of files that a format is, or that its options name, beside the trace; none if the format
// is unknown.
func FilesOf(spec string) (paths []string) {
	WithFiles(spec, func(path string) string {
		paths = append(paths, path)
		return path
	})
	return paths
}

// WithFiles returns a format that is, or whose options name, other files than spec does. An unknown format stays as it
// is.
func WithFiles(spec string, other func(path string) string) string {
	if path, _, ok := cutFile(spec); ok {
		return other(path) + spec[len(path):]
	}
	if !strings.Contains(spec, ":") {
		return spec
	}
	format, opts, err := parseFormat(spec)
	if err != nil {
		return spec
	}
	renamed := false
	for _, p := range format.Options {
		if path := p.Path(opts); path != "" {
			opts[p.Name], renamed = other(path), true
		}
	}
	if !renamed {
		return spec
	}
	return source.Spec(format, opts)
}
