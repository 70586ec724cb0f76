package policies

var gdsfEntry = Entry{
	Name:    "gdsf",
	Summary: "greedy dual size frequency: evicts the smallest sum of requests * cost / size and age at the last request",
	Source:  "Cherkasova, Improving WWW proxies performance with greedy-dual-size-frequency caching policy, HPL-98-69R1, 1998",
	Params: []Param{{
		Name: "cost", Default: "one", Choices: []string{"one", "packets"},
		Doc: "what a miss costs: one saves misses, packets (2 + size/536) also saves traffic",
	}},
	New: func(c Config) (Policy, error) {
		if c.Params.Text("cost") == "packets" {
			return newAging(c, func(size int64) float64 { return packets(size) / float64(size) }), nil
		}
		return newAging(c, func(size int64) float64 { return 1 / float64(size) }), nil
	},
}

// packets estimates how many TCP packets a miss of that many bytes sends and receives (section 3 of the paper).
func packets(size int64) float64 { return 2 + float64(size)/536 }
