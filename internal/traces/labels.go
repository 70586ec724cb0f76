package traces

import "fmt"

// Labels has a column of the log for each request, such as its sender, path or status. Unlike tenants, labels change
// nothing: their requests share objects and one cache.
type Labels struct {
	Column string
	Names  []string // the labels with the most requests, at most MostLabels, and last OtherLabels if there are more
	Of     []uint8  // per request: the number of its label; all blocks of a prompt have the prompt's
}

// MostLabels is how many labels are told apart.
const MostLabels = 20

// OtherLabels is the label of all requests beyond the labels that are kept apart.
const OtherLabels = "(others)"

// Tenants says which tenant owns each object. A key that two tenants request is one object for each, so that every
// object has one owner. Prompts are different: each has a tenant, and several tenants may request the same block.
type Tenants struct {
	Names    []string // in order of their first request
	Of       []uint32 // per object: the number of its owner; nil for prompts
	OfPrompt []uint32 // per prompt: the number of its tenant; nil for anything else

	Shared int // keys that several tenants request, so that they are several objects
}

// CheckQuotas refuses prompts of several tenants that have a block in common, so that it is nobody's.
func (t *Trace) CheckQuotas() error {
	of := make([]uint32, t.NumObjects) // the number of its tenant and 1
	for prompt, tenant := range t.Tenants.OfPrompt {
		group, _ := t.Group(prompt)
		for _, o := range group {
			if of[o] != 0 && of[o] != tenant+1 {
				return fmt.Errorf("prompts of several tenants of %s have blocks in common, and a block has one share; give each "+
					"tenant blocks of its own: --tenant 'column(name=...,salt=true)'", t.Name)
			}
			of[o] = tenant + 1
		}
	}
	return nil
}
