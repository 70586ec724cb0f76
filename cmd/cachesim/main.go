// Command cachesim replays traces of requests through caches under many policies and compares them with the offline
// optimum.
package main

import (
	"os"

	_ "github.com/cachesim/cachesim/internal/sim/all" // registers all parts
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
