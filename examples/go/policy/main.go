// Command mysim is cachesim with a policy of its own, LFU whose counts are halved from time to time: in every command,
// list, figure and page. Try mysim run trace.zst --policy aged,lfu,lru.
package main

import "github.com/cachesim/cachesim"

func init() {
	cachesim.Register(cachesim.Entry{
		Name:    "aged",
		Summary: "evicts the object with the fewest hits, of which half are forgotten once per cache turnover",
		Params: []cachesim.Param{{Name: "turnovers", Default: 1.0, Min: 0.01, Max: 1000,
			Doc: "after how many insertions, as a multiple of the residents, counts are halved"}},
		Type: (*aged)(nil),
		New:  func(c cachesim.Config) (cachesim.Policy, error) { return newAged(c), nil },
	})
}

func main() { cachesim.Main() }
