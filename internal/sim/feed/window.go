package feed

import "time"

// A cache serves a window of requests between two checks of the context. Windows last about WindowTime: they are long
// if a request takes nanoseconds, and short if each request trains, predicts or draws a million candidates.
const (
	WindowTime     = 5 * time.Millisecond
	ShortestWindow = 4
	LongestWindow  = 1 << 15
)

// NextWindow returns the length of the next window, given the length and the time of the last one.
func NextWindow(length int, took time.Duration) int {
	switch {
	case took > WindowTime:
		return max(length/2, ShortestWindow)
	case took < WindowTime/4:
		return min(2*length, LongestWindow)
	}
	return length
}
