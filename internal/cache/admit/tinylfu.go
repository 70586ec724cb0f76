package admit

import (
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/admission"
	"github.com/cachesim/cachesim/internal/traces/requests"
)

// Contest is implemented by admissions that compare an object with those that would leave for it. They admit
// everything where nothing leaves.
type Contest interface {
	Admission
	// Wins reports whether an object that missed replaces these residents, which are not empty.
	Wins(r requests.Request, victims []requests.Object) bool
	// Resident reports that so many more objects are resident, or fewer.
	Resident(change int)
}

var tinyLFUEntry = Entry{
	Name:    "tinylfu",
	Summary: "admits objects that were requested more often than what would leave for them",
	Source: "Einziger and Friedman, TinyLFU: a highly efficient cache admission policy, PDP 2014; for several that " +
		"leave, Einziger, Eytan, Friedman and Manes, Lightweight robust size aware cache management, ACM ToS 2022 (AV)",
	Contests: true,
	Random:   true,
	// Its sketch has 16 counters of 4 bits for each object that fits.
	PerObject: 8,
	Params:    admission.FrequencyParams,
	New: func(c Config) (Admission, error) {
		return &tinyLFU{admission.NewFrequencies(policies.Config{Objects: c.Objects, Capacity: c.Capacity, Unit: !c.Sized,
			Seed: c.Seed, Params: c.Params})}, nil
	},
}

type tinyLFU struct{ admission.Frequencies }

func (t *tinyLFU) Request(r requests.Request, _ int) { t.Count(r.Object) }

func (*tinyLFU) Admit(requests.Request) bool { return true }

func (t *tinyLFU) Wins(r requests.Request, victims []requests.Object) bool {
	return t.Prefers(r.Object, victims...)
}
