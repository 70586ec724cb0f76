package policies

import (
	"context"
	"sync"

	"github.com/cachesim/cachesim/internal/base/parallel"
)

// Life is how long the policies of a replay are used. A policy that is more than memory, such as a process, registers
// what ends it, and reports by Fail that it cannot go on. Its methods may be called from several goroutines.
type Life struct {
	cancel context.CancelFunc
	mutex  sync.Mutex
	ended  bool
	done   []func()
	ends   []func()
	err    error // the first failure
}

// lifeKey is the key of a Life in a context.
type lifeKey struct{}

// Begin begins the life of the policies that are made with the context that it returns. A failure of one of them ends
// the context. Whoever begins a life must end it.
func Begin(ctx context.Context) (context.Context, *Life) {
	ctx, cancel := context.WithCancel(ctx)
	l := &Life{cancel: cancel}
	return context.WithValue(ctx, lifeKey{}, l), l
}

// LifeOf returns the life that a context has, for Config.Life; nil if it has none.
func LifeOf(ctx context.Context) *Life {
	l, _ := ctx.Value(lifeKey{}).(*Life)
	return l
}

// WhenDone makes the end of work that succeeds call a function, before those of AtEnd and in the goroutine of the work.
func (l *Life) WhenDone(done func()) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.done = append(l.done, done)
}

// complete calls the functions of WhenDone.
func (l *Life) complete() {
	l.mutex.Lock()
	done := l.done
	l.mutex.Unlock()
	for _, do := range done {
		do()
	}
}

// AtEnd makes the end of the life call a function, which may be while a method of the policy runs; at once if it has
// ended.
func (l *Life) AtEnd(end func()) {
	l.mutex.Lock()
	ended := l.ended
	if !ended {
		l.ends = append(l.ends, end)
	}
	l.mutex.Unlock()
	if ended {
		end()
	}
}

// Ends returns how many functions the end of the life will call.
func (l *Life) Ends() int {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return len(l.ends)
}

// Fail reports that a policy cannot go on. The first failure is what the replay ends with. The policy must still answer
// until the replay notices, with any victim.
func (l *Life) Fail(err error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.err == nil && !l.ended {
		l.err = err
		l.cancel()
	}
}

// End releases what the policies have. It returns the failure that was reported, or else nil.
func (l *Life) End() error {
	l.mutex.Lock()
	ends := l.ends
	l.ended, l.ends = true, nil
	l.mutex.Unlock()
	l.cancel()
	for _, end := range ends {
		end()
	}
	return l.err
}

// Await is parallel.Await for work that makes policies with its context. It ends their life, and a failure of one of
// them is its error.
func Await[T any](ctx context.Context, work func(ctx context.Context) (T, error)) (T, error) {
	ctx, life := Begin(ctx)
	result, err := parallel.Await(ctx, func() (T, error) {
		result, err := work(ctx)
		if err == nil {
			life.complete()
		}
		return result, err
	})
	if failure := life.End(); failure != nil {
		var none T
		return none, failure
	}
	return result, err
}
