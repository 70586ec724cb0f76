package workload

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/records"
	"github.com/cachesim/cachesim/internal/traces"
)

// mostListed is how many files a page names one by one.
const mostListed = 3

// Settings describes for a report the trace, its format, its contents and what was left out.
func (w Workload) Settings(t *traces.Trace) (settings []records.Setting) {
	add := func(name, value string) {
		if value != "" {
			settings = append(settings, records.Setting{Name: name, Value: value})
		}
	}
	add("trace", t.Name)
	files := strings.Join(w.Files, ", ")
	if len(w.Files) > mostListed { // the command has all of them
		files = traces.NameOf(w.Files)
	}
	if files != t.Name {
		add("files", files)
	}
	if w.Generator != t.Name {
		add("generator", w.Generator)
	}
	add("read as", strings.Join(t.Lines(""), "; "))
	add("requests", show.Count(int64(len(t.Objects))))
	add("distinct objects", show.Count(int64(t.NumObjects)))
	if t.HasSizes() {
		add("footprint", show.Capacity(t.Footprint(), records.Bytes))
	}
	if n := t.LeftOut(); n > 0 {
		add("left out", show.Count(n)+" rows of the files that are no requests")
	}
	if n := t.BadLines(); n > 0 {
		add("unreadable", show.Count(n)+" lines of the files, left out")
	}
	if t.HasSizes() && t.EmptyRequests() > 0 {
		add("requests of size 0", show.Count(int64(t.EmptyRequests()))+", left out where capacities count bytes")
	}
	if w.Limit > 0 {
		add("limit", "the first "+show.Count(int64(w.Limit))+" requests")
	}
	if w.SampleRate > 0 && w.SampleRate < 1 {
		add("sample", fmt.Sprintf("%s of the objects, seed %d; all counts refer to the sample",
			show.Share(w.SampleRate), w.SampleSeed))
	}
	if w.Merge {
		add("files read", "merged by time")
	}
	if w.PerFile {
		add("files replayed", "each through an empty cache")
	}
	add("tenants", w.Tenants)
	add("hits counted by", w.By)
	add("embeddings", w.Embeddings)
	add("keys and values", w.KV)
	for i, warning := range t.Warnings {
		add("warning "+strconv.Itoa(i+1), warning)
	}
	add("SHA-256", strings.TrimPrefix(w.Checksum, "sha256:"))
	return settings
}
