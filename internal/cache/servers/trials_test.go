package servers_test

import (
	"bytes"
	"crypto/md5"
	"fmt"
	"math"
	"sort"
	"testing"
)

// python is Python's random.random(): MT19937, seeded by a number of 32 bits.
type python struct {
	state [624]uint32
	at    int
}

func newPython(seed uint32) *python {
	p := &python{at: 624}
	s := &p.state
	s[0] = 19650218
	for i := 1; i < 624; i++ {
		s[i] = 1812433253*(s[i-1]^s[i-1]>>30) + uint32(i)
	}
	i := 1
	next := func() {
		if i++; i == 624 {
			s[0], i = s[623], 1
		}
	}
	for range 624 {
		s[i] = (s[i] ^ (s[i-1]^s[i-1]>>30)*1664525) + seed
		next()
	}
	for range 623 {
		s[i] = (s[i] ^ (s[i-1]^s[i-1]>>30)*1566083941) - uint32(i)
		next()
	}
	s[0] = 1 << 31
	return p
}

func (p *python) bits() uint32 {
	if p.at == 624 {
		s := &p.state
		for i := range s {
			y := s[i]&(1<<31) | s[(i+1)%624]&(1<<31-1)
			s[i] = s[(i+397)%624] ^ y>>1
			if y&1 == 1 {
				s[i] ^= 0x9908b0df
			}
		}
		p.at = 0
	}
	y := p.state[p.at]
	p.at++
	y ^= y >> 11
	y ^= y << 7 & 0x9d2c5680
	y ^= y << 15 & 0xefc60000
	return y ^ y>>18
}

func (p *python) random() float64 {
	a, b := p.bits()>>5, p.bits()>>6
	return (float64(a)*(1<<26) + float64(b)) / (1 << 53)
}

func (p *python) below(n int) int { return int(p.random() * float64(n)) }

func (p *python) permutation(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	for i := n - 1; i > 0; i-- {
		j := p.below(i + 1)
		all[i], all[j] = all[j], all[i]
	}
	return all
}

func (p *python) lognormal(median, sigma float64, least, most int) int {
	normal := 0.0
	for range 12 {
		normal += p.random()
	}
	return int(min(float64(most), max(float64(least), math.Exp(math.Log(median)+float64(sigma*(normal-6))))))
}

// zipf draws places by a law of Zipf.
type zipf []float64

func newZipf(n int, alpha float64) zipf {
	sums, sum := make(zipf, n), 0.0
	for i := range sums {
		sum += math.Pow(float64(i+1), -alpha)
		sums[i] = sum
	}
	return sums
}

func (z zipf) draw(p *python) int {
	x := p.random() * z[len(z)-1]
	return sort.Search(len(z), func(i int) bool { return z[i] >= x })
}

// popular are objects of one kind.
type popular struct {
	key   string
	ranks zipf
	at    []int
	sizes []int
}

func (p *python) popular(key string, n int, alpha float64, size func() int) popular {
	o := popular{key: key, ranks: newZipf(n, alpha)}
	o.at = p.permutation(n)
	for range n {
		o.sizes = append(o.sizes, size())
	}
	return o
}

func (o popular) draw(p *python) (k int) { return o.at[o.ranks.draw(p)] }

// trials are traces that were replayed through real servers, as CSV: time,key,size[,ttl]. They are made by the seeded
// program of those trials, of which the checksums are.
var trials = map[string]struct {
	requests int
	sum      string
	write    func(p *python, n int, w *bytes.Buffer)
}{
	"kv-zipf": {200_000, "7acdbcb08e8a7d94ec869824cbe1a4dc", profiles(60_000, 245, 8000)},
	"kv-big":  {400_000, "7219e418be076bb7fb59bc104e2ee352", profiles(150_000, 500, 20_000)},
	"kv-mix":  {200_000, "aa17028f60a3e47b1cc2e575c5f7151f", mixture},
	"kv-ttl":  {200_000, "3c072767c79cbbd56e95558bfe2b4ff2", sessions},
	"web":     {60_000, "7e974140819aa48bdb0415ea58fe7a01", pages(0)},

	"web-onehit": {60_000, "9bdd0f4679010ebe89a9f8624bb065f0", pages(0.3)},
}

func profiles(keys int, median float64, most int) func(*python, int, *bytes.Buffer) {
	return func(p *python, n int, w *bytes.Buffer) {
		c := newZipf(keys, 0.9)
		o := p.popular("user:%07d:profile", keys, 0.9, func() int { return p.lognormal(median, 1, 20, most) })
		o.ranks = c
		w.WriteString("time,key,size\n")
		for i := range n {
			k := o.draw(p)
			fmt.Fprintf(w, "%.4f,"+o.key+",%d\n", float64(i)/5000, k, o.sizes[k])
		}
	}
}

func mixture(p *python, n int, w *bytes.Buffer) {
	families := []popular{
		p.popular("cnt:%d", 20_000, 0.85, func() int { return 1 + p.below(8) }),
		p.popular("flag:user:%08d", 25_000, 0.85, func() int { return 4 + p.below(40) }),
		p.popular("session:%032x", 20_000, 0.85, func() int { return p.lognormal(700, 0.5, 100, 4000) }),
		p.popular("doc:https://example.org/articles/%012d/rendered", 8000, 0.85,
			func() int { return p.lognormal(3000, 0.9, 200, 30_000) }),
		p.popular("blob:%d", 1500, 0.85, func() int { return p.lognormal(20_000, 0.8, 2000, 200_000) }),
	}
	w.WriteString("time,key,size\n")
	for i := range n {
		if i > 0 && i%20_000 == 0 { // a fifth of the popular keys changes
			for _, o := range families {
				for j := range len(o.at) / 5 {
					a, b := p.below(len(o.at)), j*3%len(o.at)
					o.at[a], o.at[b] = o.at[b], o.at[a]
				}
			}
		}
		x, at := p.random(), 0
		for shares := []float64{.30, .25, .25, .17, .03}; at < 4 && x >= shares[at]; at++ {
			x -= shares[at]
		}
		o := families[at]
		k := o.draw(p)
		fmt.Fprintf(w, "%.4f,"+o.key+",%d\n", float64(i)/5000, k, o.sizes[k])
	}
}

func sessions(p *python, n int, w *bytes.Buffer) {
	o := p.popular("sess:%06d", 60_000, 0.8, func() int { return p.lognormal(400, 0.8, 20, 8000) })
	ttls := make([]string, 60_000)
	for k := range ttls {
		ttls[k] = []string{"1", "2", "5", "10", "20", ""}[p.below(6)]
	}
	w.WriteString("time,key,size,ttl\n")
	for i := range n {
		k := o.draw(p)
		fmt.Fprintf(w, "%.4f,"+o.key+",%d,%s\n", float64(i)/5000, k, o.sizes[k], ttls[k])
	}
}

func pages(onehit float64) func(*python, int, *bytes.Buffer) {
	return func(p *python, n int, w *bytes.Buffer) {
		size := func() int { return p.lognormal(6000, 1.3, 300, 2_000_000) }
		o := p.popular("/img/%06d.jpg", 15_000, 0.85, size)
		w.WriteString("time,key,size\n")
		once := 0
		for i := range n {
			if onehit > 0 && p.random() < onehit {
				fmt.Fprintf(w, "%.4f,/o/%d,%d\n", float64(i)/1000, once, size())
				once++
				continue
			}
			k := o.draw(p)
			fmt.Fprintf(w, "%.4f,"+o.key+",%d\n", float64(i)/1000, k, o.sizes[k])
		}
	}
}

// trial returns one of the trials.
func trial(t testing.TB, name string) []byte {
	t.Helper()
	of := trials[name]
	var w bytes.Buffer
	of.write(newPython(1), of.requests, &w)
	if sum := fmt.Sprintf("%x", md5.Sum(w.Bytes())); sum != of.sum {
		t.Fatalf("%s has the checksum %s, want %s", name, sum, of.sum)
	}
	return w.Bytes()
}
