// Command driver runs caches of Go on a trace, by the protocol of ../../README.md.
//
//	driver [-as-run] TRACE
//
// With -as-run the libraries empty their buffers when they like to, as in a program that uses them. Without, a request
// begins when all that the one before caused is done, as far as the library has a way to wait for it.
package main

import (
	"bufio"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// cache is one of the libraries.
type cache interface {
	get(key uint64) bool
	put(key uint64, size uint32)
	remove(key uint64)
	close()
}

// config is what a cache is made from.
type config struct {
	capacity int64
	bytes    bool
	asRun    bool // nobody waits for what the library does later
}

// cost is what an object takes of the capacity.
func (c config) cost(size uint32) int64 {
	if c.bytes {
		return int64(size)
	}
	return 1
}

// libraries are the policies by name.
var libraries = map[string]func(config) (cache, error){
	"ristretto":      newRistretto,
	"otter":          newOtter,
	"theine":         newTheine,
	"golang-lru":     newLRU,
	"golang-lru-2q":  newTwoQueue,
	"golang-lru-arc": newARC,
}

func main() {
	asRun := flag.Bool("as-run", false, "do not wait for what the libraries do later")
	flag.Parse()
	if err := answer(flag.Arg(0), *asRun); err != nil {
		fmt.Fprintln(os.Stderr, "driver:", err)
		os.Exit(1)
	}
}

// answer answers each line of standard input.
func answer(path string, asRun bool) error {
	trace, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if len(trace)%recordBytes != 0 {
		return fmt.Errorf("%s: %d bytes are no number of records of %d", path, len(trace), recordBytes)
	}
	questions := bufio.NewScanner(os.Stdin)
	for questions.Scan() {
		n, err := ask(questions.Text(), trace, asRun)
		if err != nil {
			fmt.Printf("error\t%v\n", err)
			continue
		}
		fmt.Printf("%d\t%d\t%d\n", n.requests, n.hits, n.hitBytes)
	}
	return questions.Err()
}

// ask replays the trace in the cache of one question.
func ask(question string, trace []byte, asRun bool) (counts, error) {
	fields := strings.Split(question, "\t")
	if len(fields) != 3 || fields[2] != "objects" && fields[2] != "bytes" {
		return counts{}, fmt.Errorf("%q is no policy, capacity, and objects or bytes", question)
	}
	open, ok := libraries[fields[0]]
	if !ok {
		return counts{}, fmt.Errorf("no policy %q", fields[0])
	}
	capacity, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil || capacity < 1 {
		return counts{}, fmt.Errorf("capacity %q is no number above 0", fields[1])
	}
	c, err := open(config{capacity, fields[2] == "bytes", asRun})
	if err != nil {
		return counts{}, err
	}
	defer c.close()
	return replay(trace, c), nil
}

// errNoWeights is the answer of caches that count objects only.
var errNoWeights = errors.New("it has no weights")

type counts struct{ requests, hits, hitBytes int64 }

const (
	recordBytes = 24
	removal     = -2 // as the next request of an object: the record removes it
)

func replay(trace []byte, c cache) (n counts) {
	for ; len(trace) > 0; trace = trace[recordBytes:] {
		key, size := binary.LittleEndian.Uint64(trace[4:]), binary.LittleEndian.Uint32(trace[12:])
		if int64(binary.LittleEndian.Uint64(trace[16:])) == removal {
			c.remove(key)
			continue
		}
		n.requests++
		if c.get(key) {
			n.hits++
			n.hitBytes += int64(size)
		} else {
			c.put(key, size)
		}
	}
	return n
}
