package oracle

// Job is a job that requests blocks of one size, one after the other, over a link that sends one block at a time.
type Job struct {
	Objects  []uint32
	Next     []uint32 // of NextUse
	Capacity int      // blocks that the cache holds, at least 1; those on their way are among them
	Fetch    int64    // time in which the link sends a block
	// Gap returns the time from when a request is served to the next request.
	Gap func(request int) int64
}

// Aggressive returns the time until the last request is served, from the first request on, with an empty cache, under
// the rule Aggressive of Cao, Felten, Karlin and Li (A study of integrated prefetching and caching strategies,
// SIGMETRICS 1995). Whenever the link is free it fetches the block that is missing next, in place of the one whose next
// request is farthest away, unless that comes before the request for the missing one. Where gaps and fetches take whole
// steps, and all gaps one, it takes at most min(1 + Fetch/Capacity, 2) times as long as the best schedule.
//
// Memory: a byte and a word for each object, and n/8 bytes.
func (j *Job) Aggressive(objects int) int64 {
	a := aggressive{Job: j, held: newHeld(len(j.Objects)), here: make([]bool, objects)}
	now, free := int64(0), int64(0) // free: when the link has sent what it sends
	var coming uint32               // what it sends, or has sent last
	for i, o := range j.Objects {
		due := now
		if i > 0 {
			due += j.Gap(i - 1)
		}
		for start := max(free, now); start <= due && a.fetch(i); start = free {
			coming, free = j.Objects[a.missing], start+j.Fetch
		}
		now = due
		if !a.here[o] { // the link was not free
			a.fetch(i)
			coming, free = o, max(free, now)+j.Fetch
		}
		if coming == o {
			now = max(now, free)
		}
		a.held.serve(uint32(i), j.Next[i])
	}
	return now
}

// aggressive is the state of Job.Aggressive.
type aggressive struct {
	*Job
	held    held
	here    []bool // per object: it is in the cache, or on its way
	missing int    // the request for the block that was fetched last
}

// fetch begins to fetch the block that is missing next, from a request on, and reports whether there is one and room.
func (a *aggressive) fetch(from int) bool {
	a.missing = max(a.missing, from)
	for a.missing < len(a.Objects) && a.here[a.Objects[a.missing]] {
		a.missing++
	}
	if a.missing == len(a.Objects) {
		return false
	}
	if a.held.blocks() == a.Capacity {
		victim, ok := a.held.farthest()
		if ok && int(victim) < a.missing {
			return false
		}
		a.held.evict()
		if ok {
			a.here[a.Objects[victim]] = false
		}
	}
	a.here[a.Objects[a.missing]] = true
	a.held.load(uint32(a.missing))
	return true
}

// Bound returns a time before which no schedule serves the last request, whatever it fetches and evicts, and however
// the link divides its bandwidth among the blocks on their way. Until a request that the optimum misses is served, the
// link has sent as many blocks as the optimum has missed; after that, the gaps are left. The optimum of the whole trace
// has the fewest misses of each part from the first request on: what it evicts is farthest away there, too, or is not
// requested in it any more.
func (j *Job) Bound() int64 {
	left := int64(0)
	for i := range len(j.Objects) - 1 {
		left += j.Gap(i)
	}
	bound, misses, h := left, int64(0), newHeld(len(j.Objects))
	for i := range j.Objects {
		if !h.next.Has(uint32(i)) {
			if h.blocks() == j.Capacity {
				h.evict()
			}
			h.load(uint32(i))
			misses++
			bound = max(bound, misses*j.Fetch+left)
		}
		h.serve(uint32(i), j.Next[i])
		if i < len(j.Objects)-1 {
			left -= j.Gap(i)
		}
	}
	return bound
}

// held is the blocks that a cache holds, by their next requests.
type held struct {
	next  *Bitmap
	count int // of next
	spent int // blocks that are not requested again
}

func newHeld(requests int) held { return held{next: NewBitmap(requests)} }

func (h *held) blocks() int { return h.count + h.spent }

// farthest returns the next request of the block whose is farthest away; false if one is not requested again.
func (h *held) farthest() (request uint32, ok bool) {
	if h.spent > 0 {
		return 0, false
	}
	return h.next.Max()
}

// evict evicts a block that is not requested again, or the farthest one.
func (h *held) evict() {
	if request, ok := h.farthest(); ok {
		h.next.Clear(request)
		h.count--
		return
	}
	h.spent--
}

// load loads the block of a request to come.
func (h *held) load(request uint32) {
	h.next.Set(request)
	h.count++
}

// serve serves a request for a block that is held.
func (h *held) serve(request, next uint32) {
	h.next.Clear(request)
	if next == Never {
		h.count--
		h.spent++
		return
	}
	h.next.Set(next)
}
