package models

import (
	"slices"
	"testing"

	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/files"
)

// TestReadsWithoutAJob: they belong to the job unknown, which is one job even if the trace has one of that name.
func TestReadsWithoutAJob(t *testing.T) {
	for _, c := range []struct{ names, want []string }{
		{[]string{"a", "b"}, []string{"a", "unknown", "b"}},
		{[]string{"a", "unknown"}, []string{"a", "unknown", "unknown"}},
	} {
		all := jobsOf(&traces.Trace{Kind: &files.Columns{Jobs: []int32{0, -1, 1}, JobNames: c.names}})
		var got []string
		for _, job := range all.of {
			got = append(got, all.names[job])
		}
		if names := slices.Compact(slices.Sorted(slices.Values(all.names))); len(names) != len(all.names) ||
			!slices.Equal(got, c.want) {
			t.Errorf("reads of the jobs %q, want %q; all jobs are %q", got, c.want, all.names)
		}
	}
}
