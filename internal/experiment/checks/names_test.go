package checks

import (
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/records"
)

// A record that differs is named with its parts, of every kind.
func TestDetailsNameEveryKindOfPart(t *testing.T) {
	for _, k := range records.PartKinds {
		rec := records.Record{Label: "lru", SampleRate: 1}
		*k.Field(&rec) = "some"
		if s := DetailsOf(&rec); !strings.Contains(s, "some") {
			t.Errorf("the details %q do not have the %s", s, k.Name)
		}
	}
}
