package tiers

import (
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/policies"
)

// followed is a level whose objects somebody follows. It observes the pool in place of the level.
type followed struct {
	*level
	follower cache.LoadObserver
}

// observed returns what observes the pool of a level.
func (l *level) observed() cache.Observer {
	if l.of.follower == nil {
		return l
	}
	return followed{l, l.of.follower.OfTier(l.at, l.name)}
}

func (f followed) Loaded(o policies.Object, size int64, why policies.Reason) {
	f.follower.Loaded(o, size, why)
}

// Left implements cache.Observer. The object leaves this tier before the next one gets it.
func (f followed) Left(o policies.Object, size int64, why cache.Departure) {
	f.follower.Left(o, size, why)
	f.level.Left(o, size, why)
}
