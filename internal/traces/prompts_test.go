package traces

import (
	"slices"
	"testing"
)

func TestDepthsCountTheTokensFromTheRoot(t *testing.T) {
	p := &Prompts{BlockTokens: 16, Parents: []int32{-1, 0, 1, 1, -1, 3}}
	if got, want := p.Depths(), []int32{16, 32, 48, 48, 16, 64}; !slices.Equal(got, want) {
		t.Errorf("depths are %v, want %v", got, want)
	}
	if got := (*Prompts)(nil).Depths(); got != nil {
		t.Errorf("depths without prompts are %v, want none", got)
	}
}
