package policies

var lfuDAEntry = Entry{
	Name:    "lfu-da",
	Look:    Look{Color: Orange, Mark: Circle},
	Memory:  Memory{PerObject: 20, PerSlot: 0},
	Aliases: []string{"lfuda"},
	Summary: "LFU with dynamic aging: evicts the smallest sum of requests and age at the last request",
	Source: "Arlitt, Cherkasova, Dilley, Friedrich, Jin, Evaluating content management techniques for Web proxy " +
		"caches, SIGMETRICS PER 2000",
	New: func(c Config) (Policy, error) {
		return newAging(c, func(size float64) float64 { return size }), nil
	},
}
