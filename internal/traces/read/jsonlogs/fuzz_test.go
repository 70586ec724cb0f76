package jsonlogs_test

import (
	"testing"

	"github.com/cachesim/cachesim/internal/traces/tracetest"
)

// FuzzJSON reads JSON on lines.
func FuzzJSON(f *testing.F) {
	tracetest.FuzzAll(f, []string{"access-json", "jsonl", `jsonl:key=.a.b[0]+."c d",time=.t,size=.s`},
		tracetest.ExampleOf(f, "access-json")+"\n",
		`{"key":"a","time":1,"size":2,"op":"get","ttl":3,"hit":true}`+"\n"+`{"key":1e3}`,
		`{"a":{"b":[1,"\ud83d\ude00"]},"url":"x"}`,
		`{"id":null}`,
		`{"a":{"b":["x"]},"c d":1,"t":"2000-01-01T00:00:00Z","s":3}`,
		`{"a":{"b":[{}]}}`)
}
