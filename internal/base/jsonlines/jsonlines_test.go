package jsonlines

import (
	"math"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
)

func TestWrite(t *testing.T) {
	var out strings.Builder
	must.Do(t, Write(&out, []map[string]any{{"a": "<b> & c"}, {}}))
	if want := "{\"a\":\"<b> & c\"}\n{}\n"; out.String() != want {
		t.Errorf("wrote %q, want %q", out.String(), want)
	}
	if err := Write(&out, []float64{math.NaN()}); err == nil {
		t.Error("what JSON cannot say is written")
	}
}
