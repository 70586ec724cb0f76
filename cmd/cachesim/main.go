// Command cachesim replays traces of requests through caches under many policies and compares them with the offline
// optimum.
package main

import (
	"os"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
