package recommender

import (
	"math"
	"testing"
)

func TestSteadyAndTrend(t *testing.T) {
	for _, s := range Steady.HotShares(0.38, 200, 1, BurstExtra) {
		if s != (Step{Base: 0.38, HotShare: 0.38}) {
			t.Fatalf("a steady load has the step %+v", s)
		}
	}
	trend := Trend.HotShares(0.18, 200, 1, BurstExtra)
	if first, last := trend[0].HotShare, trend[199].HotShare; first != 0.18 || math.Abs(last-0.43) > 1e-12 {
		t.Errorf("the trend is from %v to %v, want 0.18 to 0.43", first, last)
	}
	for i := 1; i < len(trend); i++ {
		if trend[i].HotShare <= trend[i-1].HotShare || trend[i].Base != trend[i].HotShare || trend[i].Extra != 0 {
			t.Fatalf("step %d of the trend is %+v after %+v", i, trend[i], trend[i-1])
		}
	}
	if s := Trend.HotShares(0.9, 10, 1, BurstExtra); s[9].HotShare != MostHot {
		t.Errorf("a trend from 0.9 ends at %v, want %v", s[9].HotShare, MostHot)
	}
	if s := Trend.HotShares(0.3, 1, 1, BurstExtra); s[0].HotShare != 0.3 {
		t.Errorf("a trend of one epoch has the share %v", s[0].HotShare)
	}
}

// TestBurst checks the spikes over many epochs: lengths from 3 to 5, one per 20 epochs, at most 15% further requests.
func TestBurst(t *testing.T) {
	const epochs = 200000
	steps := Burst.HotShares(0.18, epochs, 7, BurstExtra)
	lengths := map[int]int{}
	length := 0
	for _, s := range steps {
		if s.Extra > 0 {
			if s.Extra != BurstExtra || math.Abs(s.HotShare-(0.18+0.15)/1.15) > 1e-12 || s.Base != 0.18 {
				t.Fatalf("a spike has the step %+v", s)
			}
			length++
			continue
		}
		if length > 0 {
			lengths[length]++
		}
		length = 0
	}
	all := 0
	for l, n := range lengths {
		if l < 3 || l > 5 {
			t.Errorf("%d spikes are %d epochs long", n, l)
		}
		all += n
	}
	if every := epochs / float64(all); math.Abs(every-20) > 0.4 {
		t.Errorf("a spike every %.2f epochs, want 20", every)
	}
	if near := Burst.HotShares(0.55, epochs, 7, BurstExtra); near[len(near)-1].Extra > 0.15 {
		t.Error("more than 15% further requests")
	}
	for _, s := range Burst.HotShares(0.58, 1000, 7, BurstExtra) {
		if s.Extra > 0 && math.Abs(s.HotShare-0.6) > 1e-12 {
			t.Fatalf("a spike from 0.58 has the share %v, want 0.6", s.HotShare)
		}
	}
	for _, s := range Burst.HotShares(0.7, 1000, 7, BurstExtra) {
		if s.Extra != 0 || s.HotShare != 0.7 {
			t.Fatalf("a load above the share of spikes has the step %+v", s)
		}
	}
	other := Burst.HotShares(0.18, 1000, 8, BurstExtra)
	same := true
	for i, s := range Burst.HotShares(0.18, 1000, 7, BurstExtra) {
		if s != steps[i] {
			t.Fatal("the same seed has other spikes in a shorter run")
		}
		same = same && s == other[i]
	}
	if same {
		t.Error("another seed has the same spikes")
	}
}

func TestParseRegime(t *testing.T) {
	for _, r := range Regimes() {
		if got, err := ParseRegime(string(r)); got != r || err != nil {
			t.Errorf("%s: %s, %v", r, got, err)
		}
	}
	if _, err := ParseRegime("calm"); err == nil || err.Error() != `regime "calm": want steady, trend, burst` {
		t.Errorf("error %v", err)
	}
}

func TestPopulation(t *testing.T) {
	p := DefaultPopulation()
	if err := p.Check(); err != nil {
		t.Error(err)
	}
	if p.Hot() != 1530 {
		t.Errorf("%d hot users, want 5%% of 30600", p.Hot())
	}
	p.Tables = 25
	if got := [...]int{p.Draws(5000), p.Draws(15000), p.Draws(1)}; got != [...]int{122, 366, 1} {
		t.Errorf("%v draws, want 122, 366 and 1", got)
	}
	for i, change := range []func(*Population){
		func(p *Population) { p.Nodes = 0 }, func(p *Population) { p.Users = 0 },
		func(p *Population) { p.HotUsers = 1 }, func(p *Population) { p.UserAlpha = math.NaN() },
		func(p *Population) { p.MinTokens = 20000 }, func(p *Population) { p.Tables = 0 },
		func(p *Population) { p.OwnShards = 0 }, func(p *Population) { p.OwnShare = 1.5 },
	} {
		p := DefaultPopulation()
		if change(&p); p.Check() == nil {
			t.Errorf("change %d is accepted", i)
		}
	}
}
