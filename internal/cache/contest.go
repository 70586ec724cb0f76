package cache

import (
	"github.com/cachesim/cachesim/internal/cache/admit"
	"github.com/cachesim/cachesim/internal/policies"
)

// contestedPolicy is a policy whose victims leave only for objects that win against them. It asks the policy for as
// many as an object needs. Those that win stand aside: the policy has given them up, but they stay, and the next object
// is compared with them first. One that is requested comes back to the policy as an object that was evicted before.
type contestedPolicy struct {
	policies.Policy
	contest  admit.Contest
	pool     *Pool
	keptOut  func(r policies.Request) // is notified of objects that lose
	aside    []policies.Object        // those that stand aside, the first to leave first
	owed     int                      // how many of them leave for the object that has won
	names    []policies.Object        // of those that it is compared with
	resident int                      // objects, as the contest knows
}

// stands returns where an object stands aside, or -1. Few do, mostly one.
func (c *contestedPolicy) stands(o policies.Object) int {
	for i, a := range c.aside {
		if a == o {
			return i
		}
	}
	return -1
}

func (c *contestedPolicy) Hit(r policies.Request) {
	i := c.stands(r.Object)
	if i < 0 {
		c.Policy.Hit(r)
		return
	}
	c.aside = append(c.aside[:i], c.aside[i+1:]...)
	c.Policy.Miss(r)
	c.Policy.Insert(r)
}

func (c *contestedPolicy) Victim(r policies.Request) policies.Object {
	switch {
	case r.Reason != policies.Demand && len(c.aside) == 0:
		return c.Policy.Victim(r)
	case r.Reason != policies.Demand:
		return c.first()
	case c.owed == 0 && !c.callOut(r):
		return r.Object
	}
	c.owed--
	return c.first()
}

// first lets the first object that stands aside leave.
func (c *contestedPolicy) first() policies.Object {
	v := c.aside[0]
	c.aside = append(c.aside[:0], c.aside[1:]...)
	return v
}

// callOut has as many objects stand aside as must leave for r, and reports whether it wins against them. They are owed
// then. The policy may let r pass.
func (c *contestedPolicy) callOut(r policies.Request) bool {
	c.names = c.names[:0]
	standing := len(c.aside)
	for need := c.pool.used + r.Size - c.pool.capacity; need > 0; {
		if len(c.names) == len(c.aside) {
			v := c.Policy.Victim(r)
			if v == r.Object {
				return false
			}
			c.aside = append(c.aside, v)
		}
		v := c.aside[len(c.names)]
		need -= c.pool.charge(v)
		c.names = append(c.names, c.pool.name(v))
	}
	asked := r
	if asked.Object = c.pool.name(r.Object); !c.contest.Wins(asked, c.names) {
		c.keptOut(r)
		if len(c.aside) > standing { // the policy has given up others for r, and may know it already
			c.Policy.Insert(r)
			c.Policy.Remove(r.Object)
		}
		return false
	}
	c.owed = len(c.names)
	return true
}

func (c *contestedPolicy) Insert(r policies.Request) {
	change := c.pool.Len() + 1 - c.resident
	c.resident += change
	c.contest.Resident(change)
	c.Policy.Insert(r)
}

func (c *contestedPolicy) Remove(o policies.Object) {
	if i := c.stands(o); i >= 0 {
		c.aside = append(c.aside[:i], c.aside[i+1:]...)
		return
	}
	c.Policy.Remove(o)
}

func (c *contestedPolicy) Counters() []policies.Counter { return CountersOf(c.Policy) }

func (c *contestedPolicy) Remark() string { return RemarkOf(c.Policy) }
