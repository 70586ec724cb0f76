package policies

var ttlEntry = Entry{
	Name:    "ttl",
	Summary: "every object expires a fixed time after it was loaded; a full cache evicts the least recent or the oldest",
	Source:  "expireAfterWrite of Caffeine; Jung, Berger and Balakrishnan, Modeling TTL-based Internet caches, INFOCOM 2003",
	Params: []Param{
		{Name: "ttl", Default: 3600.0, Min: 1e-9, Max: 9e9, Doc: "seconds from load to expiry; hits do not renew it"},
		{Name: "order", Default: "lru", Choices: []string{"lru", "fifo"}, Doc: "what leaves a full cache: the object requested longest ago, or loaded longest ago"},
	},
	NeedsTime: true,
	New:       func(c Config) (Policy, error) { return newTTL(c), nil },
}

// ttl needs the time of each request and so has no batch path.
type ttl struct {
	loads  logQueue // in order of loading, hence of expiry
	recent logQueue // in order of the last request; unused where order is fifo
	lru    bool
	loaded []int64 // per resident object: nanoseconds
	life   int64   // nanoseconds
}

func newTTL(c Config) *ttl {
	p := &ttl{
		loads: newLogQueue(c.Objects), lru: c.Params.Text("order") == "lru",
		loaded: make([]int64, c.Objects), life: max(1, int64(c.Params.Float("ttl")*1e9)),
	}
	if p.lru {
		p.recent = newLogQueue(c.Objects)
	}
	return p
}

// Expired returns an object that was loaded ttl seconds before now, or earlier.
func (p *ttl) Expired(now int64) (Object, bool) {
	if p.loads.live == 0 {
		return 0, false
	}
	o := p.loads.back()
	if now-p.loaded[o] < p.life {
		return 0, false
	}
	p.Remove(o)
	return o, true
}

func (p *ttl) Hit(r Request) {
	if p.lru {
		p.recent.renew(r.Object)
	}
}

func (p *ttl) Miss(Request) {}

func (p *ttl) Victim(Request) Object {
	if !p.lru {
		return p.loads.pop()
	}
	o := p.recent.pop()
	p.loads.remove(o)
	return o
}

func (p *ttl) Insert(r Request) {
	p.loaded[r.Object] = r.Time
	p.loads.push(r.Object)
	if p.lru {
		p.recent.push(r.Object)
	}
}

func (p *ttl) Remove(o Object) {
	p.loads.remove(o)
	if p.lru {
		p.recent.remove(o)
	}
}
