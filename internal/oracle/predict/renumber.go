package predict

// Renumber returns p for a caller with other numbers of the objects: object returns the number that p has for one.
// Several callers may share p, each with numbers of its own.
func Renumber(p Predictor, object func(Object) Object) Predictor {
	r := &renumbered{Predictor: p, object: object}
	labeler, labels := LabelerOf(p)
	lasting := lastingOf(p)
	switch {
	case labels && lasting != nil:
		return &struct {
			*renumbered
			renumberedLabels
			renumberedLasting
		}{r, renumberedLabels{labeler, object}, renumberedLasting{lasting, object}}
	case labels:
		return &struct {
			*renumbered
			renumberedLabels
		}{r, renumberedLabels{labeler, object}}
	case lasting != nil:
		return &struct {
			*renumbered
			renumberedLasting
		}{r, renumberedLasting{lasting, object}}
	}
	return r
}

type renumbered struct {
	Predictor
	object func(Object) Object
	known  []Object
}

// Observe implements Predictor.
func (r *renumbered) Observe(o Object, pos int) { r.Predictor.Observe(r.object(o), pos) }

// Predict implements Predictor.
func (r *renumbered) Predict(objects []Object, pos int, next []float64) {
	r.known = r.known[:0]
	for _, o := range objects {
		r.known = append(r.known, r.object(o))
	}
	r.Predictor.Predict(r.known, pos, next)
}

type renumberedLabels struct {
	labeler Labeler
	object  func(Object) Object
}

// Evict implements Labeler.
func (r renumberedLabels) Evict(o Object) bool { return r.labeler.Evict(r.object(o)) }

type renumberedLasting struct {
	lasting Lasting
	object  func(Object) Object
}

// Now implements Lasting.
func (r renumberedLasting) Now(pos int) int { return r.lasting.Now(pos) }

// Until implements Lasting.
func (r renumberedLasting) Until(o Object) int32 { return r.lasting.Until(r.object(o)) }

// Generation implements Lasting.
func (r renumberedLasting) Generation() uint32 { return r.lasting.Generation() }
