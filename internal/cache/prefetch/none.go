package prefetch

var noneEntry = Entry{
	Name:    "none",
	Summary: "nothing: only requested objects are loaded",
	Source:  "cachesim",
	Memory:  "none",
	Idle:    true,
	New:     func(Config) Prefetcher { return none{} },
}

type none struct{}

func (none) Request(_ Access, proposals []Proposal) []Proposal { return proposals }
