package blocklogs_test

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces/stream"
	"github.com/cachesim/cachesim/internal/traces/tracetest"
)

func line(op stream.Op, numbers ...uint64) (records []stream.Record) {
	for _, n := range numbers {
		records = append(records, stream.Record{Num: n, Op: op, Size: 64})
	}
	return records
}

func join(parts ...[]stream.Record) (all []stream.Record) {
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

// instruction is a record of ChampSim.
func instruction(ip uint64, branch byte, stores [2]uint64, loads [4]uint64) []byte {
	b := binary.LittleEndian.AppendUint64(nil, ip)
	b = append(b, branch, branch, 1, 0, 2, 3, 0, 0)
	for _, a := range append(stores[:], loads[:]...) {
		b = binary.LittleEndian.AppendUint64(b, a)
	}
	return b
}

func TestMemory(t *testing.T) {
	read, write := stream.OpRead, stream.OpWrite
	lackey := "==4711== Lackey, an example tool\nI  00000040,3\n L 0000007f,1\n S 0000007e,4\n M 00000100,8\n"
	champ := string(bytes.Join([][]byte{
		instruction(0x400, 0, [2]uint64{0x1000, 0}, [4]uint64{0x40, 0, 0x80, 0}), instruction(0x404, 1, [2]uint64{},
			[4]uint64{}),
		instruction(0x500, 0, [2]uint64{}, [4]uint64{0x44, 0, 0, 0})}, nil))
	for name, c := range map[string]struct {
		content, format string
		want            []stream.Record
	}{
		"lackey":                   {lackey, "", join(line(read, 1), line(write, 1, 2, 4))},
		"lackey with instructions": {lackey, "lackey:instructions=true", join(line(read, 1, 1), line(write, 1, 2, 4))},
		"address": {"s 0x00401f50 1 200 1200\nl 0x00401f58 1\n", "", join(line(write, 0x1007d), line(read,
			0x1007d))},
		"address, single ones": {"s 0x10 1\nl 0x11 1\n", "address:line=1", []stream.Record{
			{Num: 16, Op: write, Size: 1}, {Num: 17, Op: read, Size: 1}}},
		"champsim": {champ, "champsim", join(line(read, 1, 2), line(write, 64), line(read, 1))},
		"champsim with instructions": {champ, "champsim:instructions=true",
			join(line(read, 16, 1, 2), line(write, 64), line(read, 16, 20, 1))},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := tracetest.ReadText(t, c.content, c.format)
			if err != nil || !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %+v, %v, want %+v", got, err, c.want)
			}
		})
	}
}

func TestChampSimIsRecognised(t *testing.T) {
	var trace []byte
	random := rand.New(rand.NewPCG(1, 1))
	for i := range uint64(40) {
		trace = append(trace, instruction(0x401000+4*i, 0, [2]uint64{}, [4]uint64{random.Uint64()})...)
	}
	s, err := tracetest.OpenText(t, string(trace), "")
	must.Do(t, err)
	if s.Info.Format != "champsim" {
		t.Errorf("read as %s", s.Info.Format)
	}
}

func TestRefuse(t *testing.T) {
	champ := string(instruction(0x400, 0, [2]uint64{}, [4]uint64{0x40}))
	for name, c := range map[string]struct{ content, format, want string }{
		"lackey, size": {" L 40,1\n L 40,x\n L 40,1\n", "",
			`line 2: "40,x": want a hexadecimal address, a comma and a size`},
		"lackey, op":      {" L 40,1\n X 40,1\n L 40,1\n", "", `line 2: " X 40,1": want I, L, S or M`},
		"lackey, short":   {" L 40,1\n L\n L 40,1\n", "", `line 2: " L": want I, L, S or M, an address and a size`},
		"address, number": {"l 0x1 1\nl 0xg 1\n", "address", `line 2: address "g": want a hexadecimal number`},
		"address, words": {"l 1 1\n", "address",
			`line 1: "l 1 1": want l or s, and an address that begins with 0x`},
		"champsim, branch": {champ + strings.Replace(champ, "\x00\x00\x01", "\x02\x00\x01", 1), "champsim",
			"record 2 says 2 and 0 where a branch"},
		"champsim, cut": {champ + "abc", "champsim", "byte 64: the file is cut off within a record"},
	} {
		t.Run(name, func(t *testing.T) {
			records, err := tracetest.ReadText(t, c.content, c.format)
			must.Fail(t, err, c.want, records)
		})
	}
}
