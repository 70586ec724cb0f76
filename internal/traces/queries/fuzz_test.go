package queries_test

import (
	"testing"

	"github.com/cachesim/cachesim/internal/traces/tracetest"
)

// FuzzQueries reads queries on lines.
func FuzzQueries(f *testing.F) {
	tracetest.FuzzAll(f, []string{"queries", "text"},
		tracetest.ExampleOf(f, "queries"),
		`{"time":1e-9,"id":-3,"session":null}`+"\n\n",
		"\"a\"\n\"\\ud800\"\n",
		`{"time":0,"id":1,"embedding":[1e38,0.1,-0]}`,
		"a b\n7\n",
		"\n\n",
		"\xff")
}
