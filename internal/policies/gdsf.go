package policies

var gdsfEntry = Entry{
	Name:    "gdsf",
	Look:    Look{Color: Indigo, Mark: Cross},
	Memory:  Memory{PerObject: 20, PerSlot: 0},
	Summary: "greedy dual size frequency: evicts the smallest sum of requests * cost / size and age at the last request",
	Source: "Cherkasova, Improving WWW proxies performance with greedy-dual-size-frequency caching policy, " +
		"HPL-98-69R1, 1998",
	Params: []Param{{
		Name: "cost", Default: "one", Choices: []string{"one", "packets"},
		Doc: "what a miss costs: one saves misses, packets (2 + size/536) also saves traffic",
	}},
	New: func(c Config) (Policy, error) {
		if c.Params.Text("cost") == "packets" {
			return newAging(c, func(size float64) float64 { return million * packets(size) }), nil
		}
		return newAging(c, func(float64) float64 { return million }), nil
	},
}

// million scales the priorities: they are per 10^6 bytes, as in libCacheSim, so that sums round in the same way.
const million = 1e6

// packets estimates how many TCP packets a miss of that many bytes sends and receives, as the paper counts them.
func packets(size float64) float64 { return 2 + size/536 }
