// Package seeded has the property tests of package rapid draw the same cases in every run, so that a test that passed
// does not fail for somebody else. It is for tests only: each package whose tests use rapid imports it. go test
// -rapid.seed=7 draws other cases, and `make properties` fresh ones.
package seeded

import (
	"flag"
	"os"
	"testing"

	_ "pgregory.net/rapid" // defines the flag, before the function below is called
)

// seed is the one of every test, where nobody names another.
const seed = "1"

func init() {
	if _, named := os.LookupEnv("RAPID_SEED"); named {
		return // the variable that rapid reads
	}
	if err := flag.Set("rapid.seed", seed); err != nil {
		panic(err)
	}
}

// Covers fails a test whose cases, all together, left out what it is for. Fresh cases may do so by chance.
func Covers(t *testing.T, covered bool, format string, args ...any) {
	t.Helper()
	if !covered && flag.Lookup("rapid.seed").Value.String() == seed {
		t.Errorf(format, args...)
	}
}
