package event

// Fetches are fetches in progress, by key. A request for something that is being fetched waits for the rest of the
// fetch and starts none of its own: a delayed hit (Atre, Sherry, Wang and Berger, Caching with Delayed Hits, SIGCOMM
// 2020).
type Fetches[K comparable] struct {
	waiting map[K][]func()
}

// Fetching reports whether the thing is being fetched.
func (f *Fetches[K]) Fetching(key K) bool {
	_, fetching := f.waiting[key]
	return fetching
}

// Begin calls fetch, which must call arrived once, when the object has arrived. done is called then, after earlier
// waiters. If the object is already being fetched, fetch is not called and done waits for it.
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

// Wait calls done when the object that is being fetched arrives. It returns false, without calling done, if the object
// is not being fetched.
func (f *Fetches[K]) Wait(key K, done func()) bool {
	if !f.Fetching(key) {
		return false
	}
	f.waiting[key] = append(f.waiting[key], done)
	return true
}

func (f *Fetches[K]) arrive(key K) {
	waiting := f.waiting[key]
	// Before the waiters run: one of them may fetch the object again.
	delete(f.waiting, key)
	for _, done := range waiting {
		done()
	}
}
