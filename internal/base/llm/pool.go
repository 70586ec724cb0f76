package llm

import (
	"fmt"
	"strings"
)

// Pool is how vLLM keeps a model whose layers are of several kinds: layers of one kind are divided into groups of
// equally many, and a block of the pool has room for some tokens in the layers of one group, whichever it is.
type Pool struct {
	Tokens int     // in a block: more than usual where a block must hold a state
	Bytes  float64 // of a block, on all GPUs
	Groups []Group // in the order in which they allocate
}

// Group is one of several groups of layers of a kind.
type Group struct {
	Window int // tokens; 0 for layers that attend to all, State for those that keep a state
	Count  int // groups of this kind
}

// State is the Window of a Group whose layers keep a state.
const State = linear

// Pool returns the pool of vLLM for blocks of at least so many tokens. ok is false if all layers are of one kind, so
// that there is nothing to divide, or if their bytes per token differ, for which vLLM has other rules.
func (k KeyValues) Pool(tokens int) (p Pool, ok bool) {
	kinds, each, latent := map[int]int{}, 0.0, false
	for _, l := range k.Shape.Layers {
		bytes := k.bytesOf(l) / float64(l.Count)
		if each != 0 && bytes != each || l.Every > 1 || l.Heads == 0 || l.Bytes > 0 {
			return p, false
		}
		each, latent = bytes, latent || l.Value == 0
		kinds[l.Window] += l.Count
	}
	state, layers := 0.0, 0
	for _, s := range k.Shape.States {
		layers += s.Count
	}
	if layers > 0 {
		kinds[State], state = layers, k.State/float64(layers)
	}
	if len(kinds) < 2 || len(k.Shape.States) > 1 || kinds[0] == 0 {
		return p, false
	}
	p.Tokens = tokens
	if state > 0 {
		align := max(tokens, smallestKernel)
		if latent {
			align = max(align, smallestLatentKernel)
		}
		for float64(p.Tokens)*each < state || p.Tokens%align != 0 {
			p.Tokens += align - p.Tokens%align
		}
	}
	least, most := kinds[0], 0
	for _, n := range kinds {
		least, most = min(least, n), max(most, n)
	}
	size := least
	if 2*most < 3*least { // a few layers more are no reason for more groups
		size = most
	}
	p.Bytes = float64(float64(size) * float64(p.Tokens) * each)
	for _, l := range k.Shape.Layers { // the first layers of these models have a window or a state
		if l.Window > 0 && kinds[l.Window] > 0 {
			p.add(l.Window, kinds[l.Window], size)
			kinds[l.Window] = 0
		}
	}
	p.add(State, kinds[State], size)
	p.add(0, kinds[0], size)
	return p, true
}

// Blocks of kernels that vLLM's block is a multiple of.
const (
	smallestKernel       = 16
	smallestLatentKernel = 128
)

// About describes the groups.
func (p Pool) About() string {
	var parts []string
	for _, g := range p.Groups {
		text := counted(g.Count, "group")
		switch {
		case g.Window == State:
			text += " with a state"
		case g.Window > 0:
			text += fmt.Sprintf(" with a window of %d", g.Window)
		default:
			text += " that attend to all"
		}
		if g.Count == 1 {
			text = strings.Replace(text, "attend", "attends", 1)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

func (p *Pool) add(window, layers, size int) {
	if layers > 0 {
		p.Groups = append(p.Groups, Group{window, (layers + size - 1) / size})
	}
}
