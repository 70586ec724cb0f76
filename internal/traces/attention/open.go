package attention

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/traces/npy"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// Open opens an attention trace: a folder, a file of tensors, or a file in this program's own format, compressed or
// not. It recognises them by content. "-" is stdin (nil: that of the process); ctx ends waiting for a pipe.
func Open(ctx context.Context, path string, stdin io.Reader, options Options) (Trace, error) {
	if options.Steps < 0 {
		return nil, fmt.Errorf("%d steps: want a number above 0, or 0 for all", options.Steps)
	}
	if IsFolder(path) {
		return openFolder(ctx, path, options)
	}
	in, err := source.OpenFile(ctx, path, stdin)
	if err != nil {
		return nil, err
	}
	in.Budget = options.Memory
	t, err := openFile(in, options)
	if err != nil {
		in.Close()
		return nil, err
	}
	return t, nil
}

// Is reports whether path is an attention trace: a folder with one, or a regular file that begins like one. What cannot
// be opened is none.
func Is(ctx context.Context, path string) bool {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return err == nil && IsFolder(path)
	}
	in, err := source.OpenFile(ctx, path, nil)
	if err != nil {
		return false
	}
	defer in.Close()
	src, err := source.New(in, in.Label, in.Path, in)
	if err != nil {
		return false
	}
	head, err := src.Head()
	return err == nil && (isOwn(head) || isTensors(head))
}

func openFile(in *source.File, options Options) (Trace, error) {
	src, err := source.New(in, in.Label, in.Path, in)
	if err != nil {
		return nil, err
	}
	return openSource(src, options)
}

func openSource(src *source.Source, options Options) (Trace, error) {
	head, err := src.Head()
	if err != nil {
		return nil, err
	}
	switch {
	case isOwn(head):
		return openOwn(src, options)
	case isTensors(head):
		return openTensors(src, options)
	case bytes.HasPrefix(head.Bytes, []byte(npy.Magic)):
		return nil, src.Errorf("is one array of an attention trace, if it is one at all: name its folder, which has %s",
			metaName)
	}
	return nil, src.Errorf("%w: want a folder with %s, a file of tensors (.safetensors), or one that begins with %q (%s)",
		ErrNoAttention, metaName, magic, Ending)
}

// ErrNoAttention says that a file is no attention trace.
var ErrNoAttention = errors.New("holds no attention trace")

func isOwn(head source.Head) bool { return bytes.HasPrefix(head.Bytes, []byte(magic)) }

// Format is the name of this program's own format.
const Format = "attention"

// Formats are those of files with attention. They are formats of traces as others are, but have no requests: opening
// one as a trace of requests is an error that says so.
var Formats = []source.Format{
	{
		Name: Format, Carries: "queries, keys and values of a language model",
		Summary:   "this program's own format of attention: head by head as float16, in one pass (gen attention, convert)",
		Detection: "its first bytes, " + strings.Trim(fmt.Sprintf("%q", magic), `"`),
		Binary:    true, NoRequests: "stat, convert, gen", Detect: source.CertainIf(isOwn), Open: refuse,
		Impossible: source.ImpossibleUnless(isOwn, "it does not begin like one"),
	},
	{
		Name: "safetensors", Carries: "queries, keys and values of a language model",
		Summary:   "tensors q.L00, k.L00, v.L00 and so on: queries, keys and values of a layer",
		Detection: "a header of tensors",
		Binary:    true, NoRequests: "stat, convert", Detect: source.CertainIf(isTensors), Open: refuse,
		Impossible: source.ImpossibleUnless(isTensors, "it does not begin with a header of tensors"),
	},
}

func isTensors(head source.Head) bool { return looksLikeTensors(head.Bytes) }

// ErrNoRequests says that what was named as a trace of requests is the attention of a model.
var ErrNoRequests = errors.New("is an attention trace, not a list of requests: use cachesim run --cache attention, " +
	"cachesim stat or cachesim convert")

func refuse(src *source.Source, _ params.Values) (stream.Reader, stream.Fields, error) {
	return nil, stream.Fields{}, src.Errorf("%w", ErrNoRequests)
}
