package traces

import (
	"slices"

	"github.com/cachesim/cachesim/internal/traces/stream"
)

// Picker makes traces of some requests of a trace, one after another. Their objects are numbered from 0, as if the
// requests had been read from a file of their own.
type Picker struct {
	from    *Trace
	numbers []uint32 // per object of from: its new number plus one, 0 until it is picked

	kept   *Trace
	chosen stream.Chosen
	labels []uint8
	groups []int // of from, that begin later
	begins bool  // the next request begins a group
}

func NewPicker(t *Trace) *Picker { return &Picker{from: t, numbers: make([]uint32, t.NumObjects)} }

// Pick returns the requests at some positions, which ascend. Removals come before requests of the result, which Before
// counts; their objects are those of the whole trace.
func (p *Picker) Pick(positions []uint32, removals []Removal) *Trace {
	p.begin(len(positions))
	added := 0
	for ; len(removals) > 0 && int(removals[0].Before) < len(positions); removals = removals[1:] {
		before := int(removals[0].Before)
		p.addObjects(positions[added:before])
		added = before
		p.remove(removals[0])
	}
	p.addObjects(positions[added:])
	t, kept := p.from, p.kept
	kept.Times, kept.Ops = stream.Pick(t.Times, positions), stream.Pick(t.Ops, positions)
	kept.Ends, kept.Served = stream.Pick(t.Ends, positions), stream.Pick(t.Served, positions)
	if t.Labels != nil {
		p.labels = stream.Pick(t.Labels.Of, positions)
	}
	if t.RequestSizes == nil {
		kept.ObjectSizes = stream.Pick(t.ObjectSizes, p.chosen.Objects)
	}
	return p.end()
}

// begin begins a trace with room for so many requests.
func (p *Picker) begin(room int) {
	t := p.from
	p.kept = &Trace{Name: t.Name, Readings: t.Readings, SampleRate: t.SampleRate, SampledFrom: t.SampledFrom,
		BytesFrom: t.BytesFrom, Written: t.Written, Sizing: t.Sizing, KeysInSizes: t.KeysInSizes}
	p.kept.Objects = slices.Grow(p.kept.Objects, room)
	p.chosen, p.labels, p.groups, p.begins = stream.Chosen{}, nil, t.Groups, false
}

// remove adds a removal. An object that was never requested so far needs none.
func (p *Picker) remove(r Removal) {
	if number := p.numbers[r.Object]; number > 0 {
		p.kept.Removals = append(p.kept.Removals, Removal{uint32(len(p.kept.Objects)), number - 1, r.Why})
	}
}

// add adds the request at a position.
func (p *Picker) add(pos int) {
	t, kept := p.from, p.kept
	number := p.addObject(pos)
	if t.RequestSizes == nil && t.HasSizes() {
		kept.AddSize(number, t.Size(pos))
	}
	kept.Times, kept.Ops = appendAt(kept.Times, t.Times, pos), appendAt(kept.Ops, t.Ops, pos)
	kept.Ends, kept.Served = appendAt(kept.Ends, t.Ends, pos), appendAt(kept.Served, t.Served, pos)
	if t.Labels != nil {
		p.labels = append(p.labels, t.Labels.Of[pos])
	}
}

// addObjects adds the objects of requests, with their sizes if objects change theirs.
func (p *Picker) addObjects(positions []uint32) {
	t, kept := p.from, p.kept
	if t.Kind != nil || t.RequestSizes != nil || t.Groups != nil {
		for _, pos := range positions {
			p.addObject(int(pos))
		}
		return
	}
	requests, numbers, objects := t.Objects, p.numbers, kept.Objects
	for _, pos := range positions {
		number := numbers[requests[pos]]
		if number == 0 {
			number = p.number(requests[pos])
		}
		objects = append(objects, number-1)
	}
	kept.Objects = objects
}

// number gives an object that is new the next number, and returns it plus one.
func (p *Picker) number(object uint32) (number uint32) {
	p.chosen.Objects = append(p.chosen.Objects, object)
	number = uint32(len(p.chosen.Objects))
	p.numbers[object] = number
	return number
}

// addObject adds the object of a request, with its size if objects change theirs, and returns its number.
func (p *Picker) addObject(pos int) (number uint32) {
	t, kept := p.from, p.kept
	for len(p.groups) > 0 && p.groups[0] <= pos { // begins stays set until a request of the group is kept
		p.groups, p.begins = p.groups[1:], true
	}
	if p.begins {
		kept.Groups, p.begins = append(kept.Groups, len(kept.Objects)), false
	}
	object := t.Objects[pos]
	if number = p.numbers[object]; number == 0 {
		number = p.number(object)
	}
	if t.Kind != nil {
		p.chosen.Requests = append(p.chosen.Requests, pos)
	}
	kept.Objects = append(kept.Objects, number-1)
	if t.RequestSizes != nil {
		kept.AddSize(number-1, t.Size(pos))
	}
	return number - 1
}

// end returns the trace.
func (p *Picker) end() *Trace {
	t, kept, objects := p.from, p.kept, p.chosen.Objects
	kept.NumObjects, kept.Keys = len(objects), stream.Pick(t.Keys, objects)
	if t.Tenants != nil {
		kept.Tenants = &Tenants{Names: t.Tenants.Names, Shared: t.Tenants.Shared, Of: stream.Pick(t.Tenants.Of, objects)}
	}
	if t.Labels != nil {
		kept.Labels = &Labels{t.Labels.Column, t.Labels.Names, p.labels}
	}
	if t.HasSizes() && kept.ObjectSizes == nil {
		kept.ObjectSizes = []int64{} // still a trace with sizes
	}
	kept.DropEmptyPart()
	kept.Removals = kept.removalsIn(0, len(kept.Objects)) // none after the last request
	if t.Kind != nil {
		kept.Kind = t.Kind.Only(p.chosen)
		if kept.Kind == nil && t.Kind.Torn() {
			kept.Groups = nil
		}
	}
	for _, o := range objects {
		p.numbers[o] = 0
	}
	return kept
}
