package event

// Fetches are the things that are being fetched, by key. A request for one of them waits for the rest of the fetch and
// starts none of its own: a delayed hit (Atre, Sherry, Wang and Berger, Caching with Delayed Hits, SIGCOMM 2020).
type Fetches[K comparable] struct {
	waiting map[K][]func()
}

// Fetching reports whether the thing is being fetched.
func (f *Fetches[K]) Fetching(key K) bool {
	_, fetching := f.waiting[key]
	return fetching
}

// Begin calls fetch, which must call arrived once, when the thing is there. done is called then, after what waited
// longer. Where the thing is being fetched already, fetch is not called and done waits for it.
func (f *Fetches[K]) Begin(key K, fetch func(arrived func()), done func()) {
	if f.Wait(key, done) {
		return
	}
	if f.waiting == nil {
		f.waiting = map[K][]func(){}
	}
	f.waiting[key] = []func(){done}
	fetch(func() { f.arrive(key) })
}

// Wait calls done when the thing that is being fetched arrives. It reports false where it is not being fetched; done is
// not called then.
func (f *Fetches[K]) Wait(key K, done func()) bool {
	if !f.Fetching(key) {
		return false
	}
	f.waiting[key] = append(f.waiting[key], done)
	return true
}

func (f *Fetches[K]) arrive(key K) {
	waiting := f.waiting[key]
	delete(f.waiting, key)
	for _, done := range waiting {
		done()
	}
}
