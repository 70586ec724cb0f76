package brief

import (
	"flag"
	"slices"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
)

func TestBriefFollowsTheFlag(t *testing.T) {
	short := flag.Lookup("test.short")
	before := short.Value.String()
	defer func() { must.Do(t, short.Value.Set(before)) }()
	for _, test := range []struct {
		flag   string
		number int
		sample []int
	}{{"false", 60, []int{1, 2, 3, 4, 5, 6, 7}}, {"true", 6, []int{1, 4, 7}}} {
		must.Do(t, short.Value.Set(test.flag))
		if got := Of(60, 6); got != test.number {
			t.Errorf("-short=%s: %d, want %d", test.flag, got, test.number)
		}
		if got := Sample(3, 1, 2, 3, 4, 5, 6, 7); !slices.Equal(got, test.sample) {
			t.Errorf("-short=%s: the sample is %v, want %v", test.flag, got, test.sample)
		}
	}
}

func TestInFull(t *testing.T) {
	full := func() (number int, sample []int, ran bool) {
		t.Run("long", func(t *testing.T) {
			Long(t, "takes long")
			ran = true
		})
		return OfLong(60, 6), SampleLong(3, 1, 2, 3, 4), ran
	}
	for value, want := range map[string]bool{"": false, "0": false, "1": !testing.Short()} {
		t.Setenv(longEnv, value)
		number, sample, ran := full()
		if InFull() != want || number == 60 != want || len(sample) == 4 != want || ran != want {
			t.Errorf("%s=%q: %t, %d, %v, ran: %t", longEnv, value, InFull(), number, sample, ran)
		}
	}
}
