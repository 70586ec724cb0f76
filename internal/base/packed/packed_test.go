package packed_test

import (
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/packed"
	"github.com/cachesim/cachesim/internal/base/testing/must"
)

// TestUnpack packs and unpacks a file, and refuses a damaged one.
func TestUnpack(t *testing.T) {
	content := strings.Repeat("leaf_value=0.25 0.5\n", 1000)
	file := must.Get(packed.Pack([]byte(content)))(t)
	if got := string(packed.Unpack(file)); got != content || len(file) > 100 {
		t.Errorf("%d bytes packed as %d, %d unpacked", len(content), len(file), len(got))
	}
	defer func() {
		if recover() == nil {
			t.Error("a damaged file is unpacked")
		}
	}()
	packed.Unpack(file[:len(file)-1])
}
