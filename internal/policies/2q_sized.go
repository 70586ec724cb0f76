package policies

// sizedTwoQ is 2Q where sizes count, as libCacheSim has it: Am has its share as a limit of its own, also while the
// cache has room. By objects that limit never decides, since A1in is never below its share once an object returns.
type sizedTwoQ struct {
	*twoQ
	late
}

func (p *sizedTwoQ) Resize(capacity int64) {
	p.twoQ.Resize(capacity)
	p.limitAm(0)
}

// Admit refuses an object that does not fit its queue.
func (p *sizedTwoQ) Admit(r Request) bool {
	return p.twoQ.Admit(r) && (!p.returning || r.Size <= p.limit[am])
}

func (p *sizedTwoQ) Victim(r Request) Object {
	if len(p.late) > 0 { // the cache has shrunk
		return p.next()
	}
	return p.twoQ.Victim(r)
}

func (p *sizedTwoQ) Insert(r Request) {
	if p.returning {
		p.limitAm(r.Size)
	}
	p.twoQ.Insert(r)
}

// Resized implements SizeFollower. An object of Am may be evicted for its own growth. One on its way out stays so.
func (p *sizedTwoQ) Resized(o Object, size int64) {
	if p.segment[o] == 0 {
		p.charged.Set(o, size)
		return
	}
	p.twoQ.Resized(o, size)
	p.limitAm(0)
}

// limitAm evicts from Am until it has room for a size.
func (p *sizedTwoQ) limitAm(size int64) {
	for p.used[am]+size > p.limit[am] {
		o, ok := p.pop(am)
		if !ok {
			return
		}
		p.late = append(p.late, o)
	}
}

func (p *sizedTwoQ) Remove(o Object) {
	if !p.strike(o) {
		p.twoQ.Remove(o)
	}
}
