package read

import (
	"context"

	"github.com/cachesim/cachesim/internal/base/parallel"
	"github.com/cachesim/cachesim/internal/traces/source"
)

// ahead opens files in goroutines of their own while earlier ones are read: it reads and decompresses their beginnings,
// which of small files is all. They are handed out in their order, so that what is read does not depend on how many
// goroutines there are.
type ahead struct {
	queue chan chan prepared // in the order of the files
	end   context.CancelFunc
}

// How many files may be open before they are read: some for each goroutine, so that a slow one does not stop the
// others, and at most mostAhead. Each holds a beginning of source.HeadLen bytes.
const (
	aheadPerJob = 4
	mostAhead   = 64
)

// prepared is a file before its format is known. It is empty if the file is to be opened when its turn comes.
type prepared struct {
	in  *source.File
	src *source.Source
	err error
}

// newAhead starts to open files. The caller must call close.
func newAhead(ctx context.Context, paths []string, opts Options) *ahead {
	ctx, end := context.WithCancel(ctx)
	jobs := min(parallel.Jobs(0), len(paths))
	a := &ahead{make(chan chan prepared, min(mostAhead, aheadPerJob*jobs)), end}
	free := make(chan struct{}, jobs)
	go func() {
		defer close(a.queue)
		for _, path := range paths {
			done := make(chan prepared, 1)
			select {
			case a.queue <- done:
			case <-ctx.Done():
				return
			}
			free <- struct{}{}
			go func() {
				done <- prepareAhead(ctx, path, opts)
				<-free
			}()
		}
	}()
	return a
}

// prepareAhead opens a regular file. A pipe has no beginning yet, and waiting for it is what its reader is to do.
func prepareAhead(ctx context.Context, path string, opts Options) (p prepared) {
	if !isRegular(path) {
		return prepared{}
	}
	if p = prepare(ctx, path, opts); p.err == nil {
		_, _ = p.src.Peek(source.HeadLen) // an error comes again when it matters
	}
	return p
}

// next returns the next file; it is empty after the context has ended, too.
func (a *ahead) next() prepared {
	if done, ok := <-a.queue; ok {
		return <-done
	}
	return prepared{}
}

// close ends the goroutines, and closes the files that were not handed out.
func (a *ahead) close() {
	a.end()
	for done := range a.queue {
		if p := <-done; p.in != nil {
			p.in.Close()
		}
	}
}
