package predictors

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
	"github.com/cachesim/cachesim/internal/oracle"
	"github.com/cachesim/cachesim/internal/oracle/predict"
	"github.com/cachesim/cachesim/internal/similarity"
	"pgregory.net/rapid"
)

const answersFrom = 0.85

// sharedTrace is a trace of queries, some of which are similar, and the similarities of all pairs.
type sharedTrace struct {
	objects    []predict.Object
	count      int
	similarity map[[2]predict.Object]float32
	lists      *similarity.Neighbours
}

// drawShared draws a trace of up to a number of requests.
func drawShared(t *rapid.T, requests int) sharedTrace {
	s := sharedTrace{count: rapid.IntRange(1, 12).Draw(t, "queries")}
	similar := map[[2]predict.Object]float32{}
	for b := range predict.Object(s.count) {
		for a := range b {
			switch rapid.IntRange(0, 2).Draw(t, "relation") {
			case 1:
				similar[[2]predict.Object{a, b}] = rapid.Float32Range(0.6, 0.84).Draw(t, "topic")
			case 2:
				similar[[2]predict.Object{a, b}] = rapid.Float32Range(answersFrom, 1).Draw(t, "similarity")
			}
		}
	}
	s.objects = rapid.SliceOfN(rapid.Uint32Range(0, predict.Object(s.count-1)), 1, requests).Draw(t, "requests")
	return s.with(similar)
}

// with returns s with other similarities.
func (s sharedTrace) with(similar map[[2]predict.Object]float32) sharedTrace {
	var pairs []similarity.Pair
	for pair, x := range similar {
		pairs = append(pairs, similarity.Pair{A: pair[0], B: pair[1], Similarity: x})
	}
	s.similarity, s.lists = similar, similarity.NewNeighbours(s.count, 0.6, pairs)
	return s
}

// alike returns the similarity of two objects, 0 if they have none in common.
func (s sharedTrace) alike(a, b predict.Object) float32 {
	if a == b {
		return 1
	}
	return s.similarity[[2]predict.Object{min(a, b), max(a, b)}]
}

// next returns when an entry of o answers a request after pos next, Never if it does not: by a comparison with all.
func (s sharedTrace) next(o predict.Object, pos int) float64 {
	for at := pos + 1; at < len(s.objects); at++ {
		if s.alike(o, s.objects[at]) >= answersFrom {
			return float64(at)
		}
	}
	return predict.Never
}

// config is what a predictor of s is built from.
func (s sharedTrace) config(v params.Values, seed uint64) predict.Config {
	return predict.Config{Objects: s.objects, Count: s.count, NextUse: oracle.NextUse(s.objects, s.count), Seed: seed,
		Params: v, Similar: &predict.Similar{Lists: s.lists, From: answersFrom}}
}

func (s sharedTrace) build(t must.TB, text string, seed uint64) predict.Predictor {
	t.Helper()
	spec := must.Get(predict.Registry.Parse(text))(t)
	return must.Get(spec.Entry.New(s.config(spec.Params, seed)))(t)
}

// answerer returns an entry that could answer the request at pos, which a cache would observe.
func (s sharedTrace) answerer(pos int, bits *rand.Rand) predict.Object {
	query := s.objects[pos]
	ids, similarities := s.lists.Of(query)
	if at := bits.IntN(len(ids) + 1); at < len(ids) && similarities[at] >= answersFrom {
		return ids[at]
	}
	return query
}

// all returns the objects of s, and room for their predictions.
func (s sharedTrace) all() (objects []predict.Object, next []float64) {
	for o := range predict.Object(s.count) {
		objects = append(objects, o)
	}
	return objects, make([]float64, s.count)
}

// The oracle says when an entry next answers a request, at any time, whichever entry answers meanwhile.
func TestOracleOfSimilarRequestsEqualsBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawShared(t, 60)
		p := s.build(t, "oracle", 1)
		bits := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		objects, next := s.all()
		for pos := range s.objects {
			p.Predict(objects, pos, next)
			for _, o := range objects {
				if want := s.next(o, pos-1); next[o] != want {
					t.Fatalf("before the request at %d: object %d is due at %v, comparing all gives %v", pos, o, next[o], want)
				}
			}
			p.Observe(s.answerer(pos, bits), pos)
		}
	})
}

// Noise is that of the last request which the object's entry would have answered, so that it stays until the next one.
func TestNoiseOfSimilarRequestsStays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawShared(t, 60)
		seed := rapid.Uint64().Draw(t, "seed")
		p := s.build(t, "noisy(p=0.5)", seed)
		f := newFuture(s.config(nil, seed))
		objects, next := s.all()
		for pos := range s.objects {
			p.Observe(s.objects[pos], pos)
			p.Predict(objects, pos+1, next)
			for _, o := range objects {
				want := s.next(o, pos)
				last := pos
				for last >= 0 && s.alike(o, s.objects[last]) < answersFrom {
					last--
				}
				if last >= 0 && f.bitsOf(last).Float64() < 0.5 {
					want = -want
				}
				if next[o] != want {
					t.Fatalf("after the request at %d: object %d is due at %v, want %v", pos, o, next[o], want)
				}
			}
		}
	})
}

// Predictors with a formula predict for an object as they would if all requests that its entry answers were to it.
func TestFormulasOfSimilarRequests(t *testing.T) {
	for _, name := range []string{"ewma", "popu"} {
		rapid.Check(t, func(t *rapid.T) {
			s := drawShared(t, 60)
			p := s.build(t, name, 1)
			spec := must.Get(predict.Registry.Parse(name))(t)
			objects, next := s.all()
			alone := make([]predict.Predictor, s.count) // per object: sees its requests alone
			for o := range alone {
				alone[o] = must.Get(spec.Entry.New(predict.Config{Count: 1, Params: spec.Params}))(t)
			}
			want := []float64{0}
			for pos, query := range s.objects {
				p.Observe(query, pos)
				p.Predict(objects, pos+1, next)
				for _, o := range objects {
					if s.alike(o, query) >= answersFrom {
						alone[o].Observe(0, pos)
					}
					alone[o].Predict([]predict.Object{0}, pos+1, want)
					if next[o] != want[0] {
						t.Fatalf("%s, after the request at %d: object %d is due at %v, want %v", name, pos, o, next[o], want[0])
					}
				}
			}
		})
	}
}

// A caller that keeps predictions, and asks again only where they are void, has those that asking all would give.
func TestKeptOfSimilarRequests(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawShared(t, 80)
		text := rapid.SampledFrom([]string{"oracle", "noisy(p=0.5)", "ewma", "popu"}).Draw(t, "predictor")
		p := s.build(t, text, 3)
		kept := predict.NewKept(p, s.count)
		if !kept.Lasts() {
			t.Fatalf("%s: nothing can be kept", text)
		}
		bits := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		objects, known := s.all()
		kept.Renewed()
		p.Predict(objects, 0, known)
		kept.Note(objects)
		fresh := make([]float64, s.count)
		for pos := range s.objects {
			if bits.IntN(3) == 0 { // not at every request
				void := slices.Clone(kept.Void(pos))
				p.Predict(void, pos, fresh)
				for i, o := range void {
					known[o] = fresh[i]
				}
				kept.Note(void)
				p.Predict(objects, pos, fresh)
				if !slices.Equal(known, fresh) {
					t.Fatalf("%s: before the request at %d predictions are %v, kept ones %v", text, pos, fresh, known)
				}
			}
			p.Observe(s.answerer(pos, bits), pos)
		}
	})
}

// topicRow is the row of topic features of an object before the request at `until`, as of a time, by a look at all
// requests before.
func (s sharedTrace) topicRow(o predict.Object, until, now int) []float64 {
	row := []float64{0, 0, 0, 0, 0, 0, 0, math.NaN()}
	queries := map[predict.Object]bool{}
	recent, last := [rates]float64{}, 0
	for pos, query := range s.objects[:until] {
		alike := s.alike(o, query)
		if alike >= answersFrom {
			row[0]++
		}
		if query == o {
			row[1]++
		} else if alike >= answersFrom {
			queries[query] = true
		}
		if pos > now || alike < 0.6 {
			continue // the topic is described as of now
		}
		row[4]++
		for i, half := range halves {
			recent[i] = 1 + float64(recent[i]*math.Exp2(-float64(pos-last)/half))
		}
		last = pos
		if query != o {
			row[7] = max(float64(alike), row[7])
			if math.IsNaN(row[7]) {
				row[7] = float64(alike)
			}
		}
	}
	row[2], row[3] = float64(len(queries)), float64(now-last)
	for i, half := range halves {
		row[5+i] = recent[i] * math.Exp2(-float64(now-last)/half)
	}
	return row
}

func sameRow(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool {
		return math.IsNaN(x) && math.IsNaN(y) || math.Abs(x-y) <= 1e-5*math.Abs(y)
	})
}

// The features of a topic, of a prediction and of a sample at an age that was drawn, equal those by a look at all
// requests up to that time: no sample knows more.
func TestTopicFeaturesEqualBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawShared(t, 80)
		window := rapid.IntRange(1, 100).Draw(t, "window")
		samples := NewSamples(TopicFeatures, window, s.config(params.Defaults(gbmEntry.Params), 5))
		bits := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		row := make([]float64, TopicFeatures)
		observed := map[int]int{} // per position: the observed object
		emitted := 0
		for pos := range s.objects {
			for o := range predict.Object(s.count) {
				samples.Row(o, pos, row)
				if want := s.topicRow(o, pos, pos); samples.count[o] > 0 && !sameRow(row[LLMFeatures:], want) {
					t.Fatalf("before the request at %d: object %d has %v, want %v", pos, o, row[LLMFeatures:], want)
				}
			}
			entry := s.answerer(pos, bits)
			samples.Observe(entry, pos, func(row []float64, label float64) {
				emitted++
				age := int(row[0])
				left := int(math.Round(math.Expm1(label)))
				// Which object and request the sample is of: one whose features are these.
				for at, o := range observed {
					end := at + age + left
					expired := end-pos == pos-at // twice the time that has passed
					want := s.topicRow(predict.Object(o), pos, at+age)
					if (end == pos || expired) && sameRow(row[LLMFeatures:], want) {
						return
					}
				}
				t.Fatalf("at %d: the sample %v, due after %d, is of no request", pos, row, left)
			})
			observed[pos] = int(entry)
		}
		if emitted > len(s.objects) {
			t.Fatalf("%d samples of %d requests", emitted, len(s.objects))
		}
	})
}

// The age of a sample is as its density says: uniform in the logarithm, whatever happens in the topic meanwhile.
func TestAgesOfTopicSamplesAreUniformInTheLogarithm(t *testing.T) {
	const interval = 64
	s := sharedTrace{count: 3}.with(map[[2]predict.Object]float32{{0, 1}: 0.7})
	var below int
	const draws = 4000
	for seed := range uint64(draws) {
		s.objects = []predict.Object{0}
		for at := 1; at < interval; at++ {
			s.objects = append(s.objects, predict.Object(1+at%5/4)) // four of five are of the topic
		}
		s.objects = append(s.objects, 0)
		samples := NewSamples(TopicFeatures, 1000, s.config(params.Defaults(gbmEntry.Params), seed))
		for pos, o := range s.objects {
			samples.Observe(o, pos, func(row []float64, label float64) {
				if pos == interval && row[0] < 7 {
					below++
				}
			})
		}
	}
	// ln 8 / ln 65 of the ages are below 7.
	if share, want := float64(below)/draws, math.Log(8)/math.Log(1+interval); math.Abs(share-want) > 0.03 {
		t.Errorf("%.3f of the ages are below 7, want %.3f", share, want)
	}
}

// What gbm predicts does not depend on requests to come, nor on what is similar to queries that come only then.
func TestTopicPredictionsDoNotDependOnTheFuture(t *testing.T) {
	const known, all, count = 3000, 6000, 400
	rng := rand.New(rand.NewPCG(4, 4))
	similar := map[[2]predict.Object]float32{}
	for b := range predict.Object(count) {
		for a := b / 20 * 20; a < b; a++ {
			if rng.IntN(3) > 0 {
				similar[[2]predict.Object{a, b}] = 0.6 + 0.39*rng.Float32()
			}
		}
	}
	s := sharedTrace{count: count}
	for range all {
		limit := count
		if len(s.objects) < known {
			limit = count / 2 // the other half comes later
		}
		s.objects = append(s.objects, predict.Object(float64(limit)*rng.Float64()*rng.Float64()))
	}
	s = s.with(similar)
	other := s
	other.objects = append(slices.Clip(s.objects[:known]), s.objects[:all-known]...)
	changed := map[[2]predict.Object]float32{}
	for pair, x := range similar {
		if pair[1] < count/2 { // nothing is similar to what comes later
			changed[pair] = x
		}
	}
	other = other.with(changed)
	const text = "gbm(retrain=100,horizon=500,window=2000)"
	one, two := s.build(t, text, 9), other.build(t, text, 9)
	objects, next := s.all()
	objects = objects[:count/2]
	again := make([]float64, count)
	finite := 0
	for pos := range known {
		one.Observe(s.objects[pos], pos)
		two.Observe(s.objects[pos], pos)
		if pos%50 != 49 {
			continue
		}
		one.Predict(objects, pos+1, next)
		two.Predict(objects, pos+1, again)
		for _, o := range objects {
			if next[o] != again[o] {
				t.Fatalf("after %d requests: object %d is due at %v, with another future at %v", pos+1, o, next[o], again[o])
			}
			if next[o] < predict.Never {
				finite++
			}
		}
	}
	if finite == 0 || one.(predict.Learner).Training().Models < 3 {
		t.Errorf("%d predictions of %d models, too few to tell", finite, one.(predict.Learner).Training().Models)
	}
}

// A request ends the predictions of gbm for all objects that share it, and no others.
func TestSharedRequestsEndPredictionsOfGBM(t *testing.T) {
	s := sharedTrace{count: 40}
	similar := map[[2]predict.Object]float32{}
	for b := range predict.Object(s.count) {
		for a := b / 4 * 4; a < b; a++ {
			similar[[2]predict.Object{a, b}] = 0.7 + float32(b%2)*0.2
		}
	}
	rng := rand.New(rand.NewPCG(8, 8))
	for range 3000 {
		s.objects = append(s.objects, rng.Uint32N(uint32(s.count)))
	}
	s = s.with(similar)
	p := s.build(t, "gbm(retrain=100,refresh=1000000)", 1).(*boosted)
	objects, next := s.all()
	ended, stayed := 0, 0
	for pos, query := range s.objects {
		p.Predict(objects, pos, next)
		version := p.version
		p.Observe(query, pos)
		for _, o := range objects {
			switch {
			case version == 0:
			case p.answers[o] == answer{}:
				ended++
				if s.alike(o, query) < answersFrom {
					t.Fatalf("the request at %d ended the prediction for %d, which it is none to", pos, o)
				}
			default:
				stayed++
				if s.alike(o, query) >= answersFrom {
					t.Fatalf("the prediction for %d stayed after the request at %d to it", o, pos)
				}
			}
		}
	}
	if ended <= len(s.objects) || stayed == 0 {
		t.Errorf("%d predictions ended and %d stayed, too few to tell", ended, stayed)
	}
}

// A predictor that is not refused where entries answer similar queries knows which objects share a request there, and
// none does elsewhere.
func TestEveryPredictorKnowsSharedRequests(t *testing.T) {
	s := sharedTrace{count: 2, objects: []predict.Object{0, 1}}.with(map[[2]predict.Object]float32{{0, 1}: 0.9})
	for _, e := range predict.Registry.All() {
		spec := must.Get(predict.Registry.Parse(e.Name))(t)
		if predict.CheckSimilar(spec, true) != nil {
			continue
		}
		for _, similar := range []*predict.Similar{{Lists: s.lists, From: answersFrom}, nil} {
			c := s.config(spec.Params, 1)
			if c.Similar = similar; !e.Future {
				c.NextUse = nil
			}
			shared := predict.SharedBy(&predict.Counted{Predictor: must.Get(e.New(c))(t)})
			if (shared != nil) != (similar != nil) {
				t.Errorf("%s: %v shares requests where entries answer %v", e.Name, shared, similar)
			}
		}
	}
}

func TestPredictorsThatDoNotFitSimilarRequests(t *testing.T) {
	for _, test := range []struct {
		text    string
		similar bool
		want    string
	}{
		{"pleco", true, "write ewma, popu or gbm"},
		{"auto", true, "write ewma, popu or gbm"},
		{"gbm(features=29)", false, "write features=21"},
		{"gbm(topic=0.5)", false, "leave it out"},
		{"gbm(topic=0.5,features=21)", true, "leave it out"},
	} {
		spec := must.Get(predict.Registry.Parse(test.text))(t)
		must.Fail(t, predict.CheckSimilar(spec, test.similar), test.want, spec.Name())
		must.Do(t, predict.CheckSimilar(must.Get(predict.Registry.Parse("gbm"))(t), test.similar))
	}
}
