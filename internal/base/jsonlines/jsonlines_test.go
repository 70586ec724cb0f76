package jsonlines

import (
	"math"
	"strings"
	"testing"
)

func TestWrite(t *testing.T) {
	var out strings.Builder
	if err := Write(&out, []map[string]any{{"a": "<b> & c"}, {}}); err != nil {
		t.Fatal(err)
	}
	if want := "{\"a\":\"<b> & c\"}\n{}\n"; out.String() != want {
		t.Errorf("wrote %q, want %q", out.String(), want)
	}
	if err := Write(&out, []float64{math.NaN()}); err == nil {
		t.Error("what JSON cannot say is written")
	}
}
