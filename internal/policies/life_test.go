package policies

import (
	"context"
	"errors"
	"testing"
)

func TestLife(t *testing.T) {
	failure := errors.New("failure")
	ended, done := 0, 0
	result, err := Await(t.Context(), func(ctx context.Context) (int, error) {
		l := LifeOf(ctx)
		l.AtEnd(func() { ended++ })
		l.WhenDone(func() { t.Error("work that fails is done") })
		l.Fail(failure)
		l.Fail(errors.New("another one, later"))
		return 7, ctx.Err()
	})
	if result != 0 || err != failure || ended != 1 {
		t.Errorf("%d, %v, %d ends; want 0, %v, 1", result, err, ended, failure)
	}
	var l *Life
	result, err = Await(t.Context(), func(ctx context.Context) (int, error) {
		l = LifeOf(ctx)
		l.AtEnd(func() { ended++ })
		l.WhenDone(func() { done = ended })
		return 7, nil
	})
	if result != 7 || err != nil || ended != 2 || done != 1 {
		t.Errorf("%d, %v, %d ends, done after %d; want 7, none, 2, 1", result, err, ended, done)
	}
	_, err = Await(t.Context(), func(ctx context.Context) (int, error) {
		LifeOf(ctx).WhenDone(func() { LifeOf(ctx).Fail(failure) })
		return 7, nil
	})
	if err != failure {
		t.Errorf("%v; want the failure at the end", err)
	}
	l.AtEnd(func() { ended++ }) // of work that outlives the call
	if l.Fail(failure); l.End() != nil || ended != 3 {
		t.Errorf("%v, %d ends; want no failure after the end, 3", l.End(), ended)
	}
	if LifeOf(t.Context()) != nil {
		t.Error("a context has a life that nobody began")
	}
}
