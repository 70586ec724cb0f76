package predict

// Renumber returns p for a caller that numbers objects differently: object maps the caller's numbers to p's. Several
// callers may share p, each with numbers of its own.
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

// renumbered implements Predictor.
type renumbered struct {
	Predictor
	object func(Object) Object
	known  []Object
}

func (r *renumbered) Observe(o Object, pos int) { r.Predictor.Observe(r.object(o), pos) }

func (r *renumbered) Predict(objects []Object, pos int, next []float64) {
	r.known = r.known[:0]
	for _, o := range objects {
		r.known = append(r.known, r.object(o))
	}
	r.Predictor.Predict(r.known, pos, next)
}

// renumberedLabels implements Labeler.
type renumberedLabels struct {
	labeler Labeler
	object  func(Object) Object
}

func (r renumberedLabels) Evict(o Object) bool { return r.labeler.Evict(r.object(o)) }

// renumberedLasting implements Lasting.
type renumberedLasting struct {
	lasting Lasting
	object  func(Object) Object
}

func (r renumberedLasting) Now(pos int) int      { return r.lasting.Now(pos) }
func (r renumberedLasting) Until(o Object) int32 { return r.lasting.Until(r.object(o)) }
func (r renumberedLasting) Generation() uint32   { return r.lasting.Generation() }
