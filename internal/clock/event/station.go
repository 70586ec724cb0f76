package event

// Station is a number of equal servers with one queue, first come first served: concurrent requests, the outstanding
// accesses of a memory, a disk.
type Station struct {
	loop    *Loop
	idle    int
	waiting fifo[func()]
}

// NewStation returns a station with the given number of servers, at least one.
func NewStation(loop *Loop, servers int) *Station {
	return &Station{loop: loop, idle: servers}
}

// Acquire calls granted when a server is free, immediately if one is idle, otherwise when its turn comes. The server
// must be returned with Release.
func (s *Station) Acquire(granted func()) {
	if s.idle == 0 {
		s.waiting.push(granted)
		return
	}
	s.idle--
	granted()
}

// Release returns a server, to the first in the queue.
func (s *Station) Release() {
	// The server is handed over without becoming idle: otherwise a newcomer could overtake the queue.
	if granted, ok := s.waiting.pop(); ok {
		granted()
		return
	}
	s.idle++
}

// fifo is a queue that frees the memory of removed elements.
type fifo[T any] struct {
	items []T
	first int
}

func (f *fifo[T]) push(item T) { f.items = append(f.items, item) }

func (f *fifo[T]) pop() (item T, ok bool) {
	if f.first == len(f.items) {
		return item, false
	}
	var none T
	item, f.items[f.first] = f.items[f.first], none
	f.first++
	// At most as many are moved as were removed since the last time: constant time, amortised.
	if f.first*2 >= len(f.items) {
		f.items = f.items[:copy(f.items, f.items[f.first:])]
		f.first = 0
	}
	return item, true
}
