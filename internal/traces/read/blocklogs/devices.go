// Package blocklogs reads traces of block devices, as reads of files, and of processors, as requests for lines of
// memory. Most formats are tables of columns.
package blocklogs

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/traces/files"
	"github.com/cachesim/cachesim/internal/traces/read/columns"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// Devices are the formats of block devices. A device is a file.
var Devices = formatsOf(msr, alibaba, tencent, k5cloud, spc, systor, fiu, camelab, etw, baleen)

const (
	second = int64(1e9)
	sector = 512 // bytes
)

// device is a trace of block devices.
type device struct {
	columns.Table
	block int    // KiB, by default
	job   string // who reads, by default
	// path is the name of the only device; "" if columns name it.
	path string
}

func formatsOf(devices ...*device) (formats []source.Format) {
	for _, d := range devices {
		formats = append(formats, d.format())
	}
	return formats
}

func (d *device) format() source.Format {
	f := d.Format()
	f.Options = files.DeviceOptions(d.block, d.job)
	f.Open = d.open
	f.Carries = d.Reads()
	return f
}

func (d *device) open(src *source.Source, opts params.Values) (stream.Reader, stream.Fields, error) {
	p, err := d.NewParser(src, opts)
	if err != nil {
		return nil, stream.Fields{}, err
	}
	clock := p.Fields().Time
	writes := opts.Text("ops") == "accesses"
	src.Reading.Why = "reads and writes of no bytes"
	if !writes {
		src.Reading.Op, src.Reading.Why = "", "writes, and reads of nothing"
	}
	path := []byte(d.path)
	reader, fields, err := files.NewReader(src, files.Lines(src, func(line []byte, a *files.Access) error {
		row, err := p.Parse(line)
		if err != nil {
			return err
		}
		a.Path, a.Job, a.Offset, a.Length, a.Time = row.Path, row.Job, row.Offset, row.Length, row.Record.Time
		a.Op = row.Record.Op
		if row.Path == nil {
			a.Path = path
		}
		return nil
	}), opts, clock)
	fields.Op = writes
	return reader, fields, err
}

var (
	readWrite     = columns.ReadWrite("R", "W")
	readWriteText = columns.ReadWrite("Read", "Write")
)

var msr = &device{
	Table: columns.Table{
		Name: "msr",
		Summary: "block traces of MSR Cambridge as CSV without a header: time, host, disk, Read or Write, offset, length, " +
			"response time; a disk is a file (Narayanan et al., FAST 2008)",
		Example:   "128166372003061629,hm,1,Read,383496192,32768,413",
		Detection: "seven columns, the fourth of them Read or Write",
		Delimiter: ',',
		Columns: []columns.Column{
			columns.TimeAs("time", "100 ns from 1601", windowsTime), columns.PathAndJob("host"), columns.Path("disk"),
			columns.Op("operation", readWriteText), columns.Offset("offset", 1), columns.Length("length", 1),
			columns.Other("response time"),
		},
	},
	block: 4, job: "the host",
}

// windowsTime reads a time of Windows, a number of 100 ns from 1601.
func windowsTime(cell []byte) (int64, error) {
	const epoch = 116444736000000000 // 1970
	ticks, ok := source.ParseDigits(cell)
	// 2^56 x 100 ns still fit into an int64, and are 228 years.
	if !ok || ticks < epoch || ticks-epoch > 1<<56 {
		return 0, fmt.Errorf("time %.30q: want a number of 100 ns from 1601, after 1970", cell)
	}
	return int64(ticks-epoch) * 100, nil
}

var alibaba = &device{
	Table: columns.Table{
		Name: "alibaba",
		Summary: "block traces of Alibaba Cloud as CSV without a header: volume, R or W, offset, length, time in " +
			"microseconds; a volume is a file (Li et al., IISWC 2020)",
		Example:   "419,W,8792731648,16384,1577808144360767\n725,R,59110326272,360448,1577808144360813",
		Detection: "five columns, the second of them R or W, the others whole numbers",
		Delimiter: ',',
		Columns: []columns.Column{
			columns.Whole(columns.PathAndJob("volume")), columns.Op("operation", readWrite), columns.Offset("offset", 1),
			columns.Length("length", 1), columns.Time("time", 1e3),
		},
	},
	block: 4, job: "the volume",
}

// tencent is described in the README of the traces, http://iotta.snia.org/traces/parallel/27917.
var tencent = &device{
	Table: columns.Table{
		Name: "tencent-block",
		Summary: "block traces of Tencent Cloud as CSV without a header: time in seconds, offset and length in sectors, 0 " +
			"for a read or 1 for a write, volume; a volume is a file (Zhang et al., ATC 2020)",
		Example: "1538352000,81920,128,0,17\n1538352001,40960,8,1,18",
		Detection: "five columns of whole numbers, the first a time of ten digits that never decreases, the third mostly a " +
			"multiple of 8, the fourth 0 or 1",
		Delimiter: ',',
		Columns: []columns.Column{
			columns.TimeAs("time", "s", epochSeconds), columns.Offset("offset", sector), columns.Length("length", sector),
			columns.Op("operation", columns.ReadWrite("0", "1")), columns.Whole(columns.PathAndJob("volume")),
		},
		Sure: looksLikeSectors,
	},
	block: 4, job: "the volume",
}

// looksLikeSectors is sure of times in order and lengths of 4 KiB and multiples of that, which tells block traces from
// other tables of numbers.
func looksLikeSectors(head source.Head, _ string) source.Confidence {
	const page = 8 // sectors
	last, n, pages := uint64(0), 0, 0
	for _, line := range source.WithoutBlankEnd(head.Lines) {
		cells := source.CutLoosely(nil, line, ',')
		at, ok := source.ParseDigits(cells[0])
		if !ok || len(cells) != 5 {
			continue
		}
		if at < last {
			return source.Likely
		}
		length, _ := source.ParseDigits(cells[2])
		if n++; length > 0 && length%page == 0 {
			pages++
		}
		last = at
	}
	if n > 1 && 4*pages >= 3*n {
		return source.Certain
	}
	return source.Likely
}

// epochSeconds reads seconds since 1970, of ten digits.
func epochSeconds(cell []byte) (int64, error) {
	if len(cell) != 10 {
		return 0, fmt.Errorf("time %.30q: want seconds since 1970, of ten digits", cell)
	}
	return source.ParseTime(cell, second)
}

// k5cloud is described in the README of the traces, http://iotta.snia.org/traces/parallel/26930.
var k5cloud = &device{
	Table: columns.Table{
		Name: "k5cloud",
		Summary: "block traces of Fujitsu's K5 cloud as CSV without a header: volume, time in seconds, R or W, offset, " +
			"length; a volume is a file (SNIA IOTTA 26930)",
		Example:   "17,86400.125000000,R,48234496,4096",
		Detection: "five columns, the third of them R or W, the others numbers",
		Delimiter: ',',
		Columns: []columns.Column{
			columns.Whole(columns.PathAndJob("volume")), columns.Time("time", second), columns.Op("operation", readWrite),
			columns.Offset("offset", 1), columns.Length("length", 1),
		},
	},
	block: 4, job: "the volume",
}

// spc is specified in "SPC Trace File Format Specification", revision 1.0.1, Storage Performance Council 2002.
var spc = &device{
	Table: columns.Table{
		Name: "spc",
		Summary: "block traces of the Storage Performance Council, as in the UMass repository: unit, first sector, length " +
			"in bytes, R or W, time in seconds; a unit is a file",
		Example:   "0,20480,8192,W,0.5\n1,4096,3584,r,0.75",
		Detection: "five columns or more, the fourth of them r or w, the others numbers",
		Delimiter: ',',
		Columns: []columns.Column{
			columns.Whole(columns.PathAndJob("ASU")), columns.Offset("LBA", sector), columns.Length("size", 1),
			columns.Op("opcode", slices.Concat(readWrite, columns.ReadWrite("r", "w"))), columns.Time("timestamp", second),
		},
		Further: true,
	},
	block: 4, job: "the unit",
}

// systor is described in the README of the traces, http://iotta.snia.org/traces/block-io/4964.
var systor = &device{
	Table: columns.Table{
		Name: "systor",
		Summary: "block traces of Systor '17: time in seconds, response time, R or W, logical unit, offset, length; a unit " +
			"is a file (Lee et al., SYSTOR 2017)",
		Example:   "Timestamp,Response,IOType,LUN,Offset,Size\n1455600000.029122000,0.000187,R,1,10737418240,4096",
		Detection: "these six names, or six columns, the third of them R or W, the others numbers or empty",
		Delimiter: ',',
		Header:    true,
		Columns: []columns.Column{
			columns.Time("Timestamp", second), columns.Other("Response"), columns.Op("IOType", readWrite),
			columns.Whole(columns.PathAndJob("LUN")), columns.Offset("Offset", 1), columns.Length("Size", 1),
		},
	},
	block: 4, job: "the logical unit",
}

// fiu is described in the README of the traces, http://iotta.snia.org/traces/block-io/391.
var fiu = &device{
	Table: columns.Table{
		Name: "fiu",
		Summary: "block traces of Florida International University: time in nanoseconds, process, its name, first sector, " +
			"sectors, R or W, major and minor number of the device, MD5; a device is a file (Koller et al., FAST 2010)",
		Example:   "5000000000 4711 postgres 904192 8 R 8 1 00112233445566778899aabbccddeeff",
		Detection: "eight or nine columns, the sixth of them R or W, numbers before and behind it",
		Delimiter: ' ',
		Columns: []columns.Column{
			columns.Time("time", 1), columns.Number("pid"), columns.Job("process"), columns.Offset("lba", sector),
			columns.Length("size", sector), columns.Op("operation", readWrite), columns.Whole(columns.Path("major")),
			columns.Whole(columns.Path("minor")), columns.Other("md5"),
		},
		Optional: 1,
	},
	block: 4, job: "the name of the process",
}

// camelab has the layout that the simulator of Caffeine reads. The unit of its times is not documented.
var camelab = &device{
	Table: columns.Table{
		Name: "camelab",
		Summary: "block traces of Camelab, reconstructed on flash: time, R or W, first sector, sectors; the device is a " +
			"file (Kwon et al., TraceTracker, IISWC 2017)",
		Example:   "0.000000 R 5637144 8\n0.000031 W 1234568 16",
		Detection: "four columns or more, the second of them r or w, the others numbers",
		Delimiter: ' ',
		Columns: []columns.Column{
			columns.Number("time"), columns.Op("operation", slices.Concat(readWrite, columns.ReadWrite("r", "w"))),
			columns.Offset("start", sector), columns.Length("sectors", sector),
		},
		Further: true,
	},
	block: 4, job: "the device", path: "disk",
}

// etw has the columns that the header of such a trace names, http://iotta.snia.org/traces/block-io/130.
var etw = &device{
	Table: columns.Table{
		Name: "etw",
		Summary: "events of Windows as text, as in the traces of Microsoft's production servers: those of reads and writes " +
			"of disks; a disk is a file (Kavalanekar et al., IISWC 2008)",
		Example: "DiskRead, 125000, database.exe (42), 1200, 0xfffffade00000010, 0x0000204e00, 0x00002000, 438, 4, " +
			"0x000901, 438, 0, Unknown, 0xfffffade00000020, \"Disk4\"",
		Detection: "lines that begin with DiskRead or DiskWrite",
		Delimiter: ',',
		Trim:      true,
		Columns: []columns.Column{
			columns.OpOnly("event", columns.ReadWrite("DiskRead", "DiskWrite")),
			columns.TimeAs("time", "us", etwTime),
			columns.Job("process"), columns.Other("thread"), columns.Other("irp"),
			hexadecimal("offset", func(row *columns.Row) *int64 { return &row.Offset }),
			hexadecimal("size", func(row *columns.Row) *int64 { return &row.Length }), columns.Other("elapsed"),
			columns.Whole(columns.Path("disk")),
		},
		Further: true,
	},
	block: 4, job: "the process",
}

// etwTime reads microseconds. The header of such a file has a line for each event, with the names of its columns.
func etwTime(cell []byte) (int64, error) {
	if string(cell) == "TimeStamp" {
		return 0, source.ErrLeftOut
	}
	return source.ParseTime(cell, 1e3)
}

// hexadecimal is a column of a hexadecimal number of bytes.
func hexadecimal(name string, to func(*columns.Row) *int64) columns.Column {
	return columns.Column{Name: name, Parse: func(row *columns.Row, cell []byte) error {
		n, ok := parseHex(bytes.TrimPrefix(cell, []byte("0x")))
		if !ok || n > source.MaxSize {
			return fmt.Errorf("%.30q: want a hexadecimal number of bytes up to 2^50", cell)
		}
		*to(row) = int64(n)
		return nil
	}}
}

// parseHex reads a hexadecimal number below 2^64 without a prefix.
func parseHex(text []byte) (n uint64, ok bool) {
	const digits = 16 // of 64 bits
	for len(text) > digits && text[0] == '0' {
		text = text[1:]
	}
	for _, c := range text {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c|' ' >= 'a' && c|' ' <= 'f':
			c = c | ' ' - 'a' + 10
		default:
			return 0, false
		}
		n = n<<4 | uint64(c)
	}
	return n, len(text) > 0 && len(text) <= digits
}

// baleen is described in https://github.com/wonglkd/BCacheSim and, as CSV, in the documentation of CacheLib.
var baleen = &device{
	Table: columns.Table{
		Name: "baleen",
		Summary: "traces of Meta's block storage Tectonic, as Baleen and CacheLib have them: block, offset, length, time, " +
			"operation, shard; a shard of a block is a file (Wong et al., FAST 2024)",
		Example: "# block_id io_offset io_size op_time op_name user_namespace user_name rs_shard_id op_count host_name\n" +
			"12034567 1048576 131072 1696518002.5 2 1 7 3 1 22",
		Detection: "a header with block_id, io_offset, io_size and op_name, or eight to ten columns of numbers in this order",
		Delimiter: ' ',
		Header:    true,
		Columns: []columns.Column{
			columns.Path("block_id"), columns.Offset("io_offset", 1), columns.Length("io_size", 1),
			columns.Time("op_time", second), columns.Op("op_name", tectonicWords), columns.Number("user_namespace"),
			columns.Whole(columns.Job("user_name")), columns.Spare(columns.Whole(columns.Path("rs_shard_id"))),
			columns.Number("op_count"), columns.Number("host_name"),
		},
		Optional: 1,
		Sure:     func(source.Head, string) source.Confidence { return source.Likely },
		Layouts: []*columns.Table{{
			Delimiter: ' ',
			Columns: slices.Concat([]columns.Column{
				columns.Path("block_id"), columns.Offset("io_offset", 1), columns.Length("io_size", 1),
				columns.Time("op_time", second), columns.Op("op_name", tectonicWords),
			}, columns.Others("pipeline", "user_namespace", "user_name")),
			Sure: func(source.Head, string) source.Confidence { return source.Likely },
		}, {
			Delimiter: ',', Headed: true, Header: true,
			Columns: []columns.Column{
				columns.Time("op_time", second), columns.Path("block_id"), columns.Spare(columns.Path("rs_shard_id")),
				columns.Length("io_size", 1), columns.Offset("io_offset", 1), columns.Job("user_name"),
				columns.Op("op_name", tectonicWords),
			},
		}},
	},
	block: 128, job: "the user",
}

// tectonicWords are the operations of Tectonic, as numbers and as texts.
var tectonicWords = []columns.Word{
	{Text: "1", Op: stream.OpRead}, {Text: "2", Op: stream.OpRead}, {Text: "5", Op: stream.OpRead},
	{Text: "3", Op: stream.OpWrite}, {Text: "4", Op: stream.OpWrite}, {Text: "6", Op: stream.OpWrite},
	{Text: "100", Op: stream.OpUnknown},
	{Text: "getChunkData.Permanent", Op: stream.OpRead}, {Text: "getChunkData.NotInitialized", Op: stream.OpRead},
	{Text: "getChunkData.Temporary", Op: stream.OpRead}, {Text: "putChunk.Permanent", Op: stream.OpWrite},
	{Text: "putChunk.NotInitialized", Op: stream.OpWrite}, {Text: "putChunk.Temporary", Op: stream.OpWrite},
}
