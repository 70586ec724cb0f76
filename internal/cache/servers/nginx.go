package servers

import (
	"fmt"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/show"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/dense"
	"github.com/cachesim/cachesim/internal/traces"
)

var nginxKind = Kind{
	Name: "nginx",
	Summary: "nginx proxy_cache: files in blocks; max_size is kept by a manager that looks every 10 s, or when a key " +
		"is due",
	Source: "ngx_http_file_cache.c of nginx 1.22; held against it. How long a sweep takes depends on the machine",
	Memory: "max_size", Unit: bytesOf, Look: policies.Look{Color: policies.Orange, Mark: policies.Diamond},
	Params: []params.Param{
		{Name: "inactive", Default: "10m", Doc: "what was not asked for that long is removed"},
		{Name: "min_uses", Default: 1, Min: 1, Max: 1 << 20, Doc: "proxy_cache_min_uses: requests from which a document is " +
			"stored"},
		{Name: "keys_zone", Default: "0", Doc: "size of the zone of keys, such as 10m; 0: large enough"},
		{Name: "manager_files", Default: 100, Min: 1, Max: 1 << 20, Doc: "files that the manager removes at once"},
		{Name: "manager_sleep", Default: 0.05, Min: 0.001, Max: 3600, Doc: "seconds that it sleeps between them"},
		{Name: firstLook, Default: 0.0, Min: 0, Max: 10, Doc: "seconds from the first request until the manager looks, for " +
			"the first time then; a server that has run for long is anywhere between two looks"},
		{Name: "headers", Default: 600, Min: 0, Max: 1 << 20, Doc: "bytes of a file beside the body"},
		{Name: "block", Default: 4096, Min: 1, Max: 1 << 30, Doc: "bytes of a block of the file system"},
		rateParam,
	},
	Check: func(v params.Values) error {
		switch zone, err := bytesOf(v.Text("keys_zone")); {
		case v.Text("keys_zone") == "0":
		case err != nil:
			return fmt.Errorf("keys_zone=%s: %w", v.Text("keys_zone"), err)
		case zone < leastZone:
			return fmt.Errorf("keys_zone=%s: keys zone is too small; want at least 8k", v.Text("keys_zone"))
		}
		if _, err := nginxTime(v.Text("inactive")); err != nil {
			return fmt.Errorf("inactive=%w", err)
		}
		return nil
	},
	CheckTrace: func(v params.Values, t *traces.Trace) error {
		return checkClock("nginx", "its manager looks every 10 s", v, t)
	},
	New: newNginx,
}

// firstLook is the name of a setting that no configuration has: what it says depends on when nginx was started.
const firstLook = "first_look"

// leastZone is the smallest zone that nginx starts with: two pages.
const leastZone = 8 << 10

// nginx keeps a key for each document that was asked for, and a file for those that are stored.
type nginx struct {
	documents
	headers, block  int64
	keys            dense.Lists // of all keys, in the order of their use
	uses            []uint32    // per object: requests that its key has counted; 0: no key
	used            []int64     // per object: when it was last asked for
	known, mostKeys int64       // keys, and how many the zone has room for
	leastUses       uint32
	inactive        int64
	files           int
	sleep           int64 // nanoseconds between batches
	first           int64 // nanoseconds from the first request to the manager's first look
	next            int64 // when the manager looks next
	began           bool
	trims           bool // the zone was full: the manager keeps an eighth free
}

const (
	nginxLook = 10 * second
	// keysPerMB is how many keys a zone of 1 MB has room for: 1,983 in 256 kB were measured.
	keysPerMB = 4 * 1983
)

func newNginx(c cache.Config) (program, error) {
	v := c.Params
	s := &nginx{documents: newDocuments(c, 0), headers: bytesBeside(c), block: int64(v.Int("block")),
		keys: dense.NewLists(c.Trace.NumObjects, 1), uses: make([]uint32, c.Trace.NumObjects),
		used: make([]int64, c.Trace.NumObjects), mostKeys: never, leastUses: uint32(v.Int("min_uses")),
		files: v.Int("manager_files"), sleep: seconds(v, "manager_sleep"), first: seconds(v, firstLook)}
	zone, _ := bytesOf(v.Text("keys_zone")) // checked
	if zone > 0 {
		s.mostKeys = max(1, zone*keysPerMB>>20)
	}
	var err error
	s.inactive, err = nginxTime(v.Text("inactive"))
	return s, err
}

// tick runs the manager: it looks every 10 s, or when a key is due, and then removes some files at a time until the
// size is below its limit.
func (s *nginx) tick(now int64) {
	if !s.began {
		s.began, s.next = true, now+s.first
	}
	for now >= s.next {
		s.forgetInactive(s.next)
		if s.sweep() {
			s.next += s.sleep
			continue
		}
		s.next += s.pause(now)
	}
}

// pause returns how long the manager sleeps before it looks again: until the next key is due, in whole seconds.
func (s *nginx) pause(now int64) int64 {
	o, ok := s.keys.Back(0)
	if !ok {
		return nginxLook * max(1, (now-s.next)/nginxLook)
	}
	return min(nginxLook, max(second, s.inactive-s.idle(o, s.next)))
}

// idle returns how long a key was not asked for by the clock of nginx, which counts whole seconds here.
func (s *nginx) idle(o policies.Object, now int64) int64 {
	return (now/second - s.used[o]/second) * second
}

// sweep removes a batch of files; false if the size is below its limit by then.
func (s *nginx) sweep() (more bool) {
	for range s.files {
		if s.documents.used < s.limit && !(s.trims && s.known > s.mostKeys/8*7) {
			return false
		}
		if !s.forgetLast() {
			return false
		}
	}
	return true
}

func (s *nginx) forgetInactive(now int64) {
	for {
		o, ok := s.keys.Back(0)
		if !ok || s.idle(o, now) < s.inactive {
			return
		}
		s.forget(o)
		s.expired++
	}
}

// forgetLast evicts the key that was asked for longest ago, with its file.
func (s *nginx) forgetLast() bool {
	o, ok := s.keys.Back(0)
	if ok {
		if s.of[o].stored {
			s.evicted++
		}
		s.forget(o)
	}
	return ok
}

func (s *nginx) forget(o policies.Object) {
	s.documents.remove(o)
	s.keys.Unlink(o)
	s.uses[o] = 0
	s.known--
}

func (s *nginx) serve(r *request) bool {
	o := r.object
	there := s.fresh(o, r.now)
	if s.changed(r, there) {
		return there
	}
	s.ask(o, r.now)
	if there && !r.write {
		return true
	}
	s.dropStale(o)
	if s.uses[o] >= s.leastUses {
		s.add(r, roundUp(r.value+s.headers, s.block))
	}
	return there
}

// ask moves a key to the front, and makes it if there is none.
func (s *nginx) ask(o policies.Object, now int64) {
	s.used[o] = now
	if s.uses[o] > 0 {
		s.keys.MoveToFront(0, o)
		s.uses[o]++
		return
	}
	if s.known >= s.mostKeys {
		s.trims = true
		s.forgetLast()
	}
	s.keys.PushFront(0, o)
	s.uses[o] = 1
	s.known++
}

func (s *nginx) remark() string {
	if s.taken > s.limit+s.limit/10 {
		return fmt.Sprintf("max_size is no limit: between two looks of its manager nginx took %s", show.Size(s.taken, 3))
	}
	return ""
}
