package laru

import (
	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/policies"
)

// questions asks the predictor about candidates, which are in slots of an order.
type questions struct {
	policies.ByPredictions
	predictor predict.Predictor
	steady    bool
	kept      predict.Kept // if the predictor is not steady

	// Of the last question.
	slots     []uint32
	asked     []policies.Object
	predicted []float64
}

func newQuestions(c policies.Config) questions {
	return questions{predictor: c.Predictor, steady: c.Predictor.Steady(), kept: predict.NewKept(c.Predictor, c.Objects)}
}

// ask predicts the objects in some slots in one batch.
func (q *questions) ask(objects []policies.Object, slots []uint32, pos int) {
	q.slots, q.asked, q.predicted = slots, q.asked[:0], q.predicted[:0]
	for _, slot := range slots {
		q.asked, q.predicted = append(q.asked, objects[slot]), append(q.predicted, 0)
	}
	if len(q.asked) > 0 {
		q.predictor.Predict(q.asked, pos, q.predicted)
	}
}
