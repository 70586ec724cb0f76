package stream

// BatchLen is the most records that a Batch holds.
const BatchLen = 256

// Batch numbers the keys of several records at once. A key that is looked up alone waits for memory up to three times,
// for its slot, its place and its text; those of a batch wait together.
type Batch struct {
	Records []Record
	Numbers []uint32 // of the keys of Records, once they are numbered
	texts   []byte   // of the records
	tags    [BatchLen]uint64
	places  [BatchLen]uint64
	seen    byte // so that what is only read to be at hand is not left out
}

// Add keeps a copy of a record without what its other slices point to, and reports whether the batch is full.
func (b *Batch) Add(rec *Record) (full bool) {
	b.Records = append(b.Records, *rec)
	if rec.Text != nil {
		// Where the texts have to move, those of earlier records stay valid where they were.
		from := len(b.texts)
		b.texts = append(b.texts, rec.Text...)
		b.Records[len(b.Records)-1].Text = b.texts[from:len(b.texts):len(b.texts)]
	}
	return len(b.Records) == BatchLen
}

// Clear removes all records.
func (b *Batch) Clear() { b.Records, b.texts = b.Records[:0], b.texts[:0] }

// Number gives the keys of the records their numbers, in the order of the records.
func (b *Batch) Number(n *Numbering) {
	b.reach(n)
	b.Numbers = b.Numbers[:0]
	for i := range b.Records {
		rec := &b.Records[i]
		var number uint32
		if rec.Text != nil {
			number = n.ofText(rec.Text, b.tags[i])
		} else {
			number = n.ofNumber(rec.Num, b.tags[i])
		}
		b.Numbers = append(b.Numbers, number)
	}
}

// reach finds the tags of the records, and reads what a lookup of each is likely to read: no load waits for another.
func (b *Batch) reach(n *Numbering) {
	for i := range b.Records {
		if rec := &b.Records[i]; rec.Text != nil {
			b.tags[i] = n.textTag(rec.Text)
			b.places[i] = n.text.slots[n.text.home(b.tags[i])]
		} else {
			b.tags[i] = n.numericTag(rec.Num)
			b.places[i] = n.numeric.slots[n.numeric.home(b.tags[i])]
		}
	}
	keys := n.Keys
	for i := range b.Records {
		if number := uint64(uint32(b.places[i])) - 1; number < uint64(len(keys)) { // no number, 0, wraps round
			b.places[i] = keys[number]
		}
	}
	for i := range b.Records {
		if place := b.places[i]; b.Records[i].Text != nil && place < uint64(len(n.arena)) {
			b.seen ^= n.arena[place]
		}
	}
}
