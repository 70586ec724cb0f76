package event

import (
	"errors"
	"testing"
	"time"
)

func TestWindows(t *testing.T) {
	bySpan, byRequests, none := Windows[int]{Span: time.Second}, Windows[int]{Requests: 3}, Windows[int]{}
	for requests := range int64(10) {
		third := requests%3 == 0
		if byRequests.EndWith(requests) != third || byRequests.Open(requests) == third {
			t.Errorf("windows of 3 requests after %d: end %t, open %t", requests, byRequests.EndWith(requests),
				byRequests.Open(requests))
		}
		if bySpan.EndWith(requests) || !bySpan.Open(requests) || none.EndWith(requests) || none.Open(requests) {
			t.Errorf("after %d requests: a window of time has ended, or there is one where none was wanted", requests)
		}
	}
}

// Windows of a part of a model have the lengths of the model's, and there are none where it has none.
func TestWindowsInto(t *testing.T) {
	failure := errors.New("full")
	whole := Windows[string]{Span: time.Minute, Requests: 7, End: func(string) error { return failure }}
	part := Into(whole, func(n int) error { return whole.End("window") })
	if part.Span != whole.Span || part.Requests != whole.Requests || part.End(1) != failure {
		t.Errorf("windows of %v and %d requests", part.Span, part.Requests)
	}
	if none := Into(Windows[string]{}, func(int) error { return nil }); none.End != nil {
		t.Error("a part reports windows that nobody wants")
	}
}
