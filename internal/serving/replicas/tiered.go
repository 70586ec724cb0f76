package replicas

// Tiered is nodes with tiers from which a model of time loads. It implements models' cache with tiers.
type Tiered struct{ *Cluster }

// tieredCache is a cache with tiers. It is an interface because a cluster may have any cache.
type tieredCache interface {
	Tiers() []string
	SharedFrom() int
	Peek(prompt int, tokens []int64) (inFirst, blocks int)
	Loads(from, to int, tokens []int64)
}

// WithTiers returns the nodes with their tiers, if their caches have any.
func (k *Cluster) WithTiers() (t Tiered, ok bool) {
	_, ok = k.lives[0].cache.(tieredCache)
	return Tiered{k}, ok
}

// Tiers returns the names of the tiers, which are the same on all nodes.
func (t Tiered) Tiers() []string { return t.first().Tiers() }

// SharedFrom returns the first tier that all nodes share, as many as there are tiers if none.
func (t Tiered) SharedFrom() int { return t.first().SharedFrom() }

// first returns the tiers of node 0, which always exists.
func (t Tiered) first() tieredCache { return t.life(0).cache.(tieredCache) }

// Peek adds to tokens, per tier, those of the leading blocks of a prompt that its node can load now. It returns how
// many blocks these are, and how many of them are in the first tier, which are the first ones.
func (t Tiered) Peek(prompt int, tokens []int64) (inFirst, blocks int) {
	return t.lives[t.on[prompt]].cache.(tieredCache).Peek(prompt, tokens)
}

// Loads adds to tokens, per tier, those that hit there when the last prompt began, without its blocks between two.
func (t Tiered) Loads(from, to int, tokens []int64) {
	last := t.order[len(t.order)-1]
	t.lives[t.on[last]].cache.(tieredCache).Loads(from, to, tokens)
}
