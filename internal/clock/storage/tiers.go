package storage

import "github.com/cachesim/cachesim/internal/clock/event"

// openTiers opens the links of the tiers.
func (m *model) openTiers() {
	if m.HitIn == nil {
		return
	}
	m.tiers, m.loaded = make([]event.Link, len(m.Tiers)), make([]int64, len(m.Tiers))
	for i, t := range m.Tiers {
		if t.Bandwidth > 0 {
			m.tiers[i] = event.NewQueuedLink(&m.loop, t.Latency, t.Bandwidth)
		}
	}
}

// load reads an object that has just hit from its tier. It reports whether the read waits for that.
func (m *model) load(request int, slot int32) bool {
	if m.HitIn == nil {
		return false
	}
	at := m.HitIn()
	if m.tiers[at] == nil {
		return false
	}
	bytes, read := m.Size(request), m.open[slot].served
	if m.counting {
		m.loaded[at] += bytes
	}
	m.tiers[at].Transfer(bytes, func() {
		if m.open[slot].served == read { // otherwise its job was stopped
			m.came(slot)
		}
	})
	return true
}
