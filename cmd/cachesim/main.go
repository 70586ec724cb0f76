// Command cachesim replays traces of requests through caches under many policies and compares them with the offline
// optimum.
package main

import "github.com/cachesim/cachesim"

func main() { cachesim.Main() }
