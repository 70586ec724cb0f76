// Package seeded has the property tests of package rapid draw the same cases in every run, so that a test that passed
// does not fail for somebody else. It is for tests only: each package whose tests use rapid imports it. go test
// -rapid.seed=7 draws other cases, and `make properties` fresh ones.
package seeded

import (
	"flag"
	"os"

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
