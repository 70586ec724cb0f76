package commands

import (
	"bytes"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/serving/hlem/trainer"
)

// The learning curve of an interrupted training and of one with the event model is a PNG.
func TestLearningCurve(t *testing.T) {
	for _, episodes := range []int{2, 5} {
		var curve bytes.Buffer
		s := &trainer.Summary{Environments: 16, Episodes: episodes, Curve: []float64{-0.5, -0.2, -0.3}}
		must.Do(t, drawCurve(&curve, s))
		if !bytes.HasPrefix(curve.Bytes(), []byte("\x89PNG")) {
			t.Errorf("%d episodes: the learning curve is no PNG", episodes)
		}
	}
}
