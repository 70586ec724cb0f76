package engines

import (
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
)

// recentChunks evicts the chunk that was found or stored last (LMCache's MRU).
type recentChunks struct {
	queue eventQueue
	at    []uint32 // per object: the position of its last request
}

func newRecentChunks(c policies.Config) *recentChunks {
	return &recentChunks{newEventQueue(max(1, c.Requests), true), make([]uint32, c.Objects)}
}

func (p *recentChunks) Hit(r policies.Request)                  { p.at[r.Object] = uint32(r.Pos) }
func (p *recentChunks) Miss(policies.Request)                   {}
func (p *recentChunks) Insert(r policies.Request)               { p.at[r.Object] = uint32(r.Pos) }
func (p *recentChunks) Victim(policies.Request) policies.Object { return p.queue.pop() }
func (p *recentChunks) Remove(o policies.Object)                { p.queue.remove(p.at[o]) }
func (p *recentChunks) Hold(o policies.Object)                  { p.Remove(o) }
func (p *recentChunks) Release(o policies.Object)               { p.queue.add(o, p.at[o]) }
func (p *recentChunks) Grow(objects int)                        { p.at = dense.Grown(p.at, objects) }
