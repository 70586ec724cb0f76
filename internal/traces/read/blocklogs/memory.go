// Package blocklogs reads traces of processors, as requests for lines of memory.
package blocklogs

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// Memory are the formats of accesses to memory. An access is a request for each line that it touches, and the key is
// the address of a line divided by its size.
var Memory = []source.Format{lackeyFormat, addressFormat, champSimFormat}

const maxLine = 1 << 20 // bytes in a line of memory: a page at the most

// lineOption is the size of a line of memory.
func lineOption() params.Param {
	return params.Param{Name: "line", Default: 64, Min: 1, Max: maxLine,
		Doc: "bytes in a line, the unit that is cached; 4096 for pages; 1 for single addresses"}
}

func instructionsOption() params.Param {
	return params.Param{Name: "instructions", Default: false,
		Doc: "whether fetches of instructions are requests, too, as in a cache that instructions and data share"}
}

// touched are the lines of memory that an access touches.
type touched struct {
	next, last uint64
	op         stream.Op
}

// touch adds an access to size bytes at an address. Memory ends at 2^64.
func (m *memoryReader) touch(address, size uint64, op stream.Op) {
	end := address + max(size, 1) - 1
	if end < address {
		end = 1<<64 - 1
	}
	m.accesses = append(m.accesses, touched{address / m.line, end / m.line, op})
}

// memoryReader gives the lines of memory that accesses touch. It implements stream.Reader.
type memoryReader struct {
	more         func() error // reads further accesses, if there are some
	line         uint64       // bytes
	instructions bool
	accesses     []touched
	next         int // the first of them of which some is left
}

func newMemoryReader(src *source.Source, opts params.Values, left string) *memoryReader {
	m := &memoryReader{line: uint64(opts.Int("line"))}
	m.instructions, _ = opts["instructions"].(bool)
	r := src.Reading
	r.Key, r.Size, r.Why = "key address", "", left
	if m.line > 1 {
		r.Key = fmt.Sprintf("key address in lines of %d bytes", m.line)
	}
	return m
}

// openMemory reads a text with an access per line.
func openMemory(src *source.Source, opts params.Values, parse func(*memoryReader, []byte) error,
	left string) (stream.Reader, stream.Fields, error) {
	m := newMemoryReader(src, opts, left)
	lines := source.ReadLines(src, func(line []byte, _ *stream.Record) error { return parse(m, line) })
	m.more = func() error { return lines.Read(nil) }
	return m, stream.Fields{Size: true, Op: true}, nil
}

func (m *memoryReader) Read(rec *stream.Record) error {
	for m.next == len(m.accesses) {
		m.accesses, m.next = m.accesses[:0], 0
		if err := m.more(); err != nil {
			return err
		}
	}
	a := &m.accesses[m.next]
	*rec = stream.Record{Num: a.next, Size: int64(m.line), Op: a.op}
	if a.next == a.last {
		m.next++
	}
	a.next++
	return nil
}

// lackeyFormat is documented in valgrind's manual, "Lackey: an example tool", option --trace-mem.
var lackeyFormat = source.Format{
	Name:    "lackey",
	Options: []params.Param{lineOption(), instructionsOption()},
	Detect: source.CertainIf(func(head source.Head) bool {
		m := &memoryReader{line: 1, instructions: true}
		return source.MostLines(head.Lines, m.parseLackey)
	}),
	Open: func(src *source.Source, opts params.Values) (stream.Reader, stream.Fields, error) {
		return openMemory(src, opts, (*memoryReader).parseLackey, "remarks of valgrind, and instructions unless "+
			"instructions=true")
	},
}

// parseLackey reads a line. A modify is a store: what it loads is the line that it stores to.
func (m *memoryReader) parseLackey(line []byte) error {
	if bytes.HasPrefix(line, []byte("==")) {
		return source.ErrLeftOut // ==4711== and a remark
	}
	const prefix = len("I  ")
	if len(line) <= prefix || line[0] != 'I' && line[0] != ' ' || line[2] != ' ' {
		return fmt.Errorf("%.40q: want I, L, S or M, an address and a size", line)
	}
	text, sizeText, ok := bytes.Cut(line[prefix:], []byte(","))
	address, ok2 := source.ParseHex(text)
	size, ok3 := source.ParseDigits(sizeText)
	if !ok || !ok2 || !ok3 || size > maxLine {
		return fmt.Errorf("%.40q: want a hexadecimal address, a comma and a size up to %d", line[prefix:], maxLine)
	}
	op := stream.OpRead
	switch string(line[:2]) {
	case "I ":
		if !m.instructions {
			return source.ErrLeftOut
		}
	case " L":
	case " S", " M":
		op = stream.OpWrite
	default:
		return fmt.Errorf("%.40q: want I, L, S or M", line)
	}
	m.touch(address, size, op)
	return nil
}

// addressFormat is described in https://cseweb.ucsd.edu/classes/fa07/cse240a/project1.html.
var addressFormat = source.Format{
	Name:    "address",
	Options: []params.Param{lineOption()},
	Detect: source.CertainIf(func(head source.Head) bool {
		m := &memoryReader{line: 1}
		return head.EveryLine(func(_ int, line []byte) bool { return m.parseAddress(line) == nil })
	}),
	Open: func(src *source.Source, opts params.Values) (stream.Reader, stream.Fields, error) {
		return openMemory(src, opts, (*memoryReader).parseAddress, "no requests")
	},
}

func (m *memoryReader) parseAddress(line []byte) error {
	const prefix = "l 0x"
	if len(line) < len(prefix) || string(line[1:len(prefix)]) != prefix[1:] || line[0] != 'l' && line[0] != 's' {
		return fmt.Errorf("%.40q: want l or s, and an address that begins with 0x", line)
	}
	text, _, _ := bytes.Cut(line[len(prefix):], []byte(" "))
	address, ok := source.ParseHex(text)
	if !ok {
		return fmt.Errorf("address %.40q: want a hexadecimal number below 2^64", text)
	}
	op := stream.OpRead
	if line[0] == 's' {
		op = stream.OpWrite
	}
	m.touch(address, 1, op)
	return nil
}

// champSimFormat has the records of ChampSim's inc/trace_instruction.h, struct input_instr.
var champSimFormat = source.Format{
	Name:       "champsim",
	Options:    []params.Param{lineOption(), instructionsOption()},
	Detect:     detectChampSim,
	Binary:     true,
	Impossible: noChampSim,
	Open: func(src *source.Source, opts params.Values) (stream.Reader, stream.Fields, error) {
		r := &champSimReader{memoryReader: newMemoryReader(src, opts, "no requests"), src: src}
		r.more = r.instruction
		return r, stream.Fields{Size: true, Op: true}, nil
	},
}

// Where the fields of a record are, in bytes from its beginning. An address of 0 is none.
const (
	champSimRecord = 64
	isBranch       = 8
	branchTaken    = 9
	stores         = 16
	loads          = 32
	address        = 8 // bytes of one
)

func noChampSim(head source.Head) string {
	n := 0
	for records := head.Bytes; len(records) >= champSimRecord; records = records[champSimRecord:] {
		n++
		if records[isBranch] > 1 || records[branchTaken] > records[isBranch] {
			return fmt.Sprintf("record %d says %d and %d where a branch, and whether it is taken, would be 0 or 1", n,
				records[isBranch], records[branchTaken])
		}
	}
	if n == 0 {
		return fmt.Sprintf("want records of %d bytes", champSimRecord)
	}
	return ""
}

// detectChampSim is sure if most instructions follow the previous one in memory, as programs run.
func detectChampSim(head source.Head, name string) source.Confidence {
	if noChampSim(head) != "" {
		return source.No
	}
	if strings.Contains(name, "champsim") {
		return source.Certain
	}
	n, near := 0, 0
	last := uint64(0)
	for records := head.Bytes; len(records) >= champSimRecord; records = records[champSimRecord:] {
		ip := binary.LittleEndian.Uint64(records)
		const longest = 15 // bytes of an instruction
		if n++; ip > last && ip-last <= longest {
			near++
		}
		last = ip
	}
	return source.Likely.If(n >= 16 && near > n/2)
}

// champSimReader reads records of instructions.
type champSimReader struct {
	*memoryReader
	src   *source.Source
	batch []byte
}

// instruction reads the next record. The trace does not state how long an access is: it touches one line.
func (r *champSimReader) instruction() error {
	if len(r.batch) == 0 {
		var err error
		if r.batch, err = r.src.Records(champSimRecord); err != nil {
			return err
		}
	}
	record := r.batch[:champSimRecord]
	r.batch = r.batch[champSimRecord:]
	if record[isBranch] > 1 || record[branchTaken] > 1 {
		return r.src.OffsetErrorf(r.src.Offset()-int64(len(r.batch))-champSimRecord,
			"the record says %d and %d where a branch, and whether it is taken, are 0 or 1", record[isBranch],
			record[branchTaken])
	}
	if r.instructions {
		r.add(record, stream.OpRead)
	}
	for at := loads; at < champSimRecord; at += address {
		r.add(record[at:], stream.OpRead)
	}
	for at := stores; at < loads; at += address {
		r.add(record[at:], stream.OpWrite)
	}
	return nil
}

func (r *champSimReader) add(text []byte, op stream.Op) {
	if a := binary.LittleEndian.Uint64(text); a != 0 {
		r.touch(a, 1, op)
	}
}
