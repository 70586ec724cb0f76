package policies

// aging evicts the object of lowest priority, where a request sets the priority of an object to
//
//	age + requests since it was loaded * weight
//
// and the age of the cache is the priority of the last victim. So what is no longer requested is overtaken in time.
// LFU-DA and GDSF are of this form and differ in the weight. Of equal priorities the least recently requested leaves.
type aging struct {
	heap   lazyHeap
	age    float64
	weight func(size int64) float64
	// weights holds the weight of each object as it was loaded; nil where it is always that of size 1.
	weights    []float64
	unitWeight float64
	free       int64 // objects that still fit, batch path only
}

func newAging(c Config, weight func(size int64) float64) *aging {
	p := &aging{heap: newLazyHeap(c.Objects), weight: weight, unitWeight: weight(1), free: c.Capacity}
	if !c.Unit {
		p.weights = make([]float64, c.Objects)
	}
	return p
}

func (p *aging) Hit(r Request) {
	weight := p.unitWeight
	if p.weights != nil {
		weight = p.weights[r.Object]
	}
	p.heap.touch(r.Object, p.age, weight)
}

func (p *aging) Miss(Request) {}

func (p *aging) Victim(Request) Object {
	v, priority := p.heap.popLeast()
	p.age = priority
	return v
}

func (p *aging) Insert(r Request) {
	weight := p.unitWeight
	if p.weights != nil {
		weight = p.weight(r.Size)
		p.weights[r.Object] = weight
	}
	p.heap.add(r.Object, p.age+weight)
}

func (p *aging) Remove(o Object) { p.heap.remove(o) }

func (p *aging) ReplayUnit(objects []Object, _ int) (hits, evictions int) {
	for _, o := range objects {
		if p.heap.has(o) {
			hits++
			p.heap.touch(o, p.age, p.unitWeight)
			continue
		}
		if p.free > 0 {
			p.free--
		} else {
			p.Victim(Request{})
			evictions++
		}
		p.heap.add(o, p.age+p.unitWeight)
	}
	return hits, evictions
}
