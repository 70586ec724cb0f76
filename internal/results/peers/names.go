package peers

import (
	"strings"

	"github.com/cachesim/cachesim/internal/records"
)

// ours is a policy of this program that has another name elsewhere.
type ours struct {
	label string // with parameters, as records have it
	near  bool   // the same policy, with details that give other counts
	kind  string
}

func same(label string) ours    { return ours{label: label, kind: records.Online} }
func near(label string) ours    { return ours{label: label, kind: records.Online, near: true} }
func offline(label string) ours { return ours{label: label, kind: records.Offline} }

// policies are the names of others for policies of this program, in lower case. docs/references.md says which have
// equal counts; tests there hold them.
var policies = map[string]ours{
	// libCacheSim
	"lru": same("lru"), "fifo": same("fifo"), "clock": same("clock"), "clock-2": same("clock(bits=2)"),
	"sieve": same("sieve"), "lfu": same("lfu"), "twoq": same("2q"), "gdsf": same("gdsf"),
	"arc": same("arc"), "s2lru(50:50)": same("slru"), "s4lru(25:25:25:25)": same("slru(segments=4)"),
	"s3fifo-0.1000-2": same("s3fifo"), "belady": offline("opt"),
	"lirs":       same("lirs(stack=2,rule=libcachesim)"),
	"beladysize": {label: "belady-size", kind: records.Offline, near: true},
	"random":     near("random"), "randomtwo": near("2-random(low=1,items=1)"), "lhd": near("lhd"),
	"lecar": near("lecar"), "cacheus": near("cacheus"), "lfuda": near("lfu-da"),
	"hyperbolic":          near("hyperbolic(leeway=1)"),
	"wtinylfu-w0.01-slru": near("w-tinylfu"), "wtinylfu-w0.10-slru": near("w-tinylfu(window=0.1)"),

	// Caffeine's simulator
	"linked.lru": same("lru"), "linked.fifo": same("fifo"), "linked.mru": same("mru"), "linked.lfu": same("lfu"),
	"linked.sieve": same("sieve"), "linked.clock": same("clock(rule=caffeine)"),
	"linked.multiqueue":   same("mq(lifetime=75,ghost=0.5)"),
	"linked.segmentedlru": same("slru(protected=0.8,rule=caffeine)"),
	"linked.s4lru":        same("slru(segments=4,rule=caffeine)"),
	"linked.lru_tinylfu":  near("tinylfu(rule=simulator)"),
	"two-queue.twoqueue":  same("2q"), "two-queue.s3fifo": same("s3fifo(rule=caffeine)"),
	"adaptive.arc": same("arc(int=true)"), "adaptive.car": same("car(int=true)"), "adaptive.cacheus": near("cacheus"),
	"irr.lirs": same("lirs(nonresident=2,rule=caffeine)"), "greedy-dual.gdsf": same("gdsf(rule=caffeine)"),
	"sketch.windowtinylfu (1%)": near("w-tinylfu(rule=simulator)"), "sampled.random": near("random"),
	"opt.clairvoyant": offline("opt-bypass"), "opt.unbounded": same("infinite"),

	// as papers write them
	"s3-fifo": near("s3fifo"), "s3fifo": near("s3fifo"), "2q": near("2q"), "lru-k": near("lru-k"), "min": offline("opt"),
	"opt": offline("opt"), "w-tinylfu": near("w-tinylfu"), "tinylfu": near("tinylfu"), "slru": near("slru"),
	"lfu-da": near("lfu-da"), "car": near("car"), "mq": near("mq"), "mru": same("mru"),
}

// inBytes are the policies of libCacheSim that have other rules where capacities count bytes.
var inBytes = map[string]ours{
	"arc":                same("arc(rule=libcachesim)"),
	"s2lru(50:50)":       same("slru(rule=libcachesim)"),
	"s4lru(25:25:25:25)": same("slru(segments=4,rule=libcachesim)"),
	"hyperbolic":         near("hyperbolic(leeway=1,sized=false)"),
}

// lookUp returns our policy for a name in another program's results.
func lookUp(name, unit string) (o ours, ok bool) {
	name = strings.ToLower(name)
	if o, ok = inBytes[name]; ok && unit == records.Bytes {
		return o, true
	}
	o, ok = policies[name]
	return o, ok
}

// knowsFuture reports whether a name is that of a policy which sees the whole trace.
func knowsFuture(name string) bool {
	name = strings.ToLower(name)
	return strings.Contains(name, "belady") || strings.Contains(name, "clairvoyant")
}
