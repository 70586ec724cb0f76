package predict

// Renumber returns p for a caller that numbers objects differently: object maps the caller's numbers to p's. Several
// callers may share p, each with numbers of its own.
func Renumber(p Predictor, object func(Object) Object) Predictor {
	r := &renumbered{Predictor: p, object: object, lasting: lastingOf(p)}
	r.labeler, _ = LabelerOf(p)
	return r
}

// renumbered is a predictor, and a Labeler and Lasting if the one that it passes on is: see LabelerOf and lastingOf.
type renumbered struct {
	Predictor
	object  func(Object) Object
	known   []Object
	labeler Labeler // nil: it has no labels
	lasting Lasting // nil: its predictions do not last
}

func (r *renumbered) Observe(o Object, pos int) { r.Predictor.Observe(r.object(o), pos) }

func (r *renumbered) Predict(objects []Object, pos int, next []float64) {
	r.known = r.known[:0]
	for _, o := range objects {
		r.known = append(r.known, r.object(o))
	}
	r.Predictor.Predict(r.known, pos, next)
}

func (r *renumbered) Evict(o Object) bool  { return r.labeler.Evict(r.object(o)) }
func (r *renumbered) Now(pos int) int      { return r.lasting.Now(pos) }
func (r *renumbered) Until(o Object) int32 { return r.lasting.Until(r.object(o)) }
func (r *renumbered) Generation() uint32   { return r.lasting.Generation() }
