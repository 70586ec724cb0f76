package weblogs_test

import (
	"testing"

	"github.com/cachesim/cachesim/internal/traces/tracetest"
)

// FuzzAccessLogs reads every access log whose layout the file or the user says.
func FuzzAccessLogs(f *testing.F) {
	tracetest.FuzzAll(f, []string{"access",
		`access:query=sort,format=%{%d/%b/%Y:%T}t.%{msec_frac}t %{%z}t %v%U%q %>s %b "%{Cache-Control}o"`, "gcs",
		"w3c"},
		tracetest.ExampleOf(f, "access"),
		`h:80 a - - [10/Oct/2000:13:55:36] "-" 408 - "a" MISS`,
		"2000-01-01 GET /a 200\n",
		`a [10/Oct/2000:13:55:36 -0700] "GET /a\" HTTP/1.1" 000 - "" "" "HIT" -`,
		`10/Oct/2000:13:55:36.123 -0700 example.com/a?c&b 200 - "max-age=60, s-maxage=5"`,
		"x/",
		"",
		tracetest.ExampleOf(f, "gcs"),
		tracetest.ExampleOf(f, "w3c"),
		"#Fields: cs-uri\n#Fields: cs-uri-stem cs-uri-query\n/a \"b\"\"c\"",
		"#Fields: timestamp sc-status cs-uri-stem rs-duration\n1\tTCP_HIT/200\thttp://h/a\t1\n")
}
