package servers

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
	"github.com/cachesim/cachesim/internal/traces"
)

const redisSource = "object.c, sds.c, dict.c, evict.c, expire.c of Redis 7.0.15 and 8.0.2, hashtable.c of Valkey " +
	"8.1, object.c of Redis 8.2 and Valkey 9.1; held against these servers"

// versions are those of a program whose memory differs, the newest first, with the bytes of the empty server.
type version struct {
	name   string
	layout redisLayout
	base   int
}

var redisVersions = []version{
	{"8.2", keyed, 753_000}, {"8.0", apart, 777_000}, {"7.4", apart, 990_000}, {"7.2", apart, 990_000},
	{"7.0", apart, 990_000},
}

var valkeyVersions = []version{{"9.1", valkey91, 1_016_000}, {"9.0", valkey90, 1_016_000}, {"8.1", valkey81, 977_000}}

func namesOf(versions []version) (names []string) {
	for _, v := range versions {
		names = append(names, v.name)
	}
	return names
}

const (
	startParam    = "start"
	minuteUnknown = "counters of lfu fall at full minutes, and the trace's times have no dates: start=0|20|40 shows " +
		"what that is worth"
)

// own is the name of what the server itself evicts.
const own = "own"

// redisParams returns the settings of a program, by their names in redis.conf.
func redisParams(versions []version) []params.Param {
	return append([]params.Param{
		{Name: "policy", Default: "allkeys-lru", Doc: "maxmemory-policy",
			Choices: []string{"allkeys-lru", "allkeys-lfu", "allkeys-random", "volatile-lru", "volatile-lfu",
				"volatile-random", "volatile-ttl", "noeviction"}},
		{Name: "version", Default: versions[0].name, Choices: namesOf(versions), Doc: "the server's, or the next older"},
		{Name: "samples", Default: 5, Min: 1, Max: 1 << 16, Doc: "maxmemory-samples: keys that are drawn for an eviction"},
		{Name: "lfu-log-factor", Default: 10, Min: 0, Max: 1 << 20, Doc: "how rarely counters rise"},
		{Name: "lfu-decay-time", Default: 1, Min: 0, Max: 1 << 20, Doc: "minutes until a counter falls by 1; 0: never"},
		{Name: startParam, Default: 0, Min: 0, Max: 59, Doc: "second of a minute at which times without dates begin, for " +
			"lfu: its counters fall at full minutes"},
		{Name: "base", Default: 0, Min: 0, Max: 1 << 40, Doc: "used_memory of the empty server with its clients, in bytes; " +
			"0: as measured for the version"},
		{Name: "quantum", Default: 8, Min: 8, Max: 16, Doc: "smallest step of jemalloc's sizes: 8 in Redis' own image and " +
			"tarball, 16 in packages of Debian, Ubuntu and Fedora"},
		{Name: "pages", Default: false, Doc: "jemalloc 5.3.1 or newer, as in Debian 14: blocks above 16 kB are whole pages"},
		{Name: "integers", Default: "", Doc: "keys, as a pattern such as counter:*, whose values are whole numbers"},
		rateParam,
	}, collectionParams...)
}

func redisKind(name, summary string, versions []version, color policies.Color) Kind {
	return Kind{
		Name: name, Summary: summary, Source: redisSource, Memory: "maxmemory", Unit: bytesOf, Inside: true,
		Look:   policies.Look{Color: color, Mark: policies.Diamond},
		Params: redisParams(versions),
		Check: func(v params.Values) error {
			if q := v.Int("quantum"); q != 8 && q != 16 {
				return fmt.Errorf("quantum=%d: want 8 or 16", q)
			}
			for _, keys := range keyPatterns {
				if _, err := path.Match(v.Text(keys), ""); err != nil {
					return err
				}
			}
			return checkCollections(v)
		},
		CheckTrace: func(v params.Values, t *traces.Trace) error {
			err := checkKeys(v, t)
			if err != nil || !strings.HasSuffix(v.Text("policy"), "lru") && !strings.HasSuffix(v.Text("policy"), "lfu") {
				return err
			}
			return checkClock(name, v.Text("policy")+" goes by a clock of seconds or minutes", v, t)
		},
		New: func(c cache.Config) (program, error) { return newRedis(c, versions) },
	}
}

func newRedis(c cache.Config, versions []version) (program, error) {
	v, n := c.Params, c.Trace.NumObjects
	var is version
	for _, is = range versions {
		if is.name == v.Text("version") {
			break
		}
	}
	s := &redis{
		redisMemory: redisMemory{jemalloc{int64(v.Int("quantum")), v.Bool("pages")}, is.layout, int64(is.base)},
		limit:       c.Capacity,
		items:       dense.NewSet(n), expiring: dense.NewSet(n),
		at:       make([]redisItem, n),
		volatile: strings.HasPrefix(v.Text("policy"), "volatile"), none: v.Text("policy") == "noeviction",
	}
	s.integers = s.matching("integers", c)
	s.collections = collections{hashes: s.matching("hashes", c), lists: s.matching("lists", c),
		field: int64(v.Int("field")), element: int64(v.Int("element")), some: v.Text("hashes")+v.Text("lists") != ""}
	if base := v.Int("base"); base > 0 {
		s.base = int64(base)
	}
	s.keys, s.deadlines = s.newTable(), s.newTable()
	s.used = s.base + s.keys.size() + s.deadlines.size()
	s.taken = s.used
	var err error
	s.evictor, err = s.newEvictor(c)
	return s, err
}

// newEvictor returns what chooses the victims: the server's own rule, or a policy in its place.
func (s *redis) newEvictor(c cache.Config) (evictor, error) {
	if c.Policy.Entry.Name != own {
		return newInside(c, s.room(), func(o policies.Object) int64 { return s.at[o].bytes })
	}
	v, n := c.Params, c.Trace.NumObjects
	e := &sampled{draws: random.NewDraws(c.Seed), samples: v.Int("samples")}
	_, rule, _ := strings.Cut(v.Text("policy"), "-")
	switch rule {
	case "random":
		return &anyKey{e.draws}, nil
	case "ttl":
		e.score = soonest{s.at}
	case "lfu":
		f := &frequency{counters: make([]uint8, n), minutes: make([]uint32, n), factor: float64(v.Int("lfu-log-factor")),
			decay: int64(v.Int("lfu-decay-time")), draws: random.NewDraws(c.Seed ^ 0x6c6675)}
		e.score = f
		dated := len(c.Trace.Times) > 0 && traces.IsDate(c.Trace.Times[0])
		if !dated || v.Float(rateParam.Name) > 0 {
			f.begin = int64(v.Int(startParam)) * second
			s.notes = append(s.notes, minuteUnknown)
		}
	default:
		e.age = &recency{used: make([]uint32, n)}
		e.score, s.age = e.age, e.age
	}
	return e, nil
}

// matching returns which objects have a key that the pattern of a setting matches, and notes if none has. "" matches
// none.
func (s *redis) matching(setting string, c cache.Config) func(o policies.Object) bool {
	pattern := c.Params.Text(setting)
	if pattern == "" {
		return func(policies.Object) bool { return false }
	}
	is := make([]bool, c.Trace.NumObjects)
	for o, key := range c.Trace.Keys {
		is[o], _ = path.Match(pattern, key.String())
	}
	if !slices.Contains(is, true) {
		s.notes = append(s.notes, fmt.Sprintf("no key of the trace matches %s=%s, which changes nothing", setting,
			pattern))
	}
	return func(o policies.Object) bool { return is[o] }
}

// inside is a policy that chooses the victims in the place of the server's own rule. It implements evictor.
type inside struct {
	policy policies.Policy
	resize policies.SizeFollower
	bytes  func(o policies.Object) int64
}

func newInside(c cache.Config, room int64, bytes func(o policies.Object) int64) (*inside, error) {
	config := c.PolicyConfig()
	config.Capacity, config.Unit = max(1, room), false
	p, err := c.Policy.Entry.New(config)
	if err != nil {
		return nil, err
	}
	resize, _ := p.(policies.SizeFollower)
	return &inside{p, resize, bytes}, nil
}

func (e *inside) request(r *request) policies.Request {
	return policies.Request{Object: r.object, Query: r.object, Pos: r.pos, Size: e.bytes(r.object), Time: r.now,
		Write: r.write}
}

func (e *inside) hit(r *request) {
	e.policy.Hit(e.request(r))
	if r.write && e.resize != nil {
		e.resize.Resized(r.object, e.bytes(r.object))
	}
}

func (e *inside) insert(r *request) {
	asked := e.request(r)
	e.policy.Miss(asked)
	e.policy.Insert(asked)
}

func (e *inside) removed(o policies.Object) { e.policy.Remove(o) }

func (e *inside) resized(room int64) {
	if r, ok := e.policy.(policies.Resizer); ok {
		r.Resize(max(1, room))
	}
}

func (e *inside) victim(_ []policies.Object, now int64, _ *redis) policies.Object {
	return e.policy.Victim(policies.Request{Object: policies.NoObject, Reason: policies.Shrink, Time: now})
}
