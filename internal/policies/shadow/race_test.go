package shadow

import (
	"math"
	"testing"
)

// A change is expected to cost the entries that are absent, times the share of such entries that are requested.
func TestCostOfAChange(t *testing.T) {
	for _, test := range []struct {
		account account
		want    float64
	}{
		{account{}, 0},
		{account{absent: 100}, 100},                        // nothing is known: each may be requested
		{account{absent: 100, unused: 100}, 50},            // 100 of 200 were, or may be
		{account{absent: 100, used: 100, unused: 600}, 25}, // 200 of 800
		{account{absent: 0, used: 100, unused: 600}, 0},    // all are resident
	} {
		if got := test.account.cost(); math.Abs(got-test.want) > 1e-9 {
			t.Errorf("%+v costs %v, want %v", test.account, got, test.want)
		}
	}
}
