package read

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/cachesim/cachesim/internal/base/testing/must"
)

func utf16Text(text string, order binary.AppendByteOrder) string {
	var b []byte
	for _, c := range utf16.Encode([]rune(text)) {
		b = order.AppendUint16(b, c)
	}
	return string(b)
}

// zstdStating returns a zstd frame with a raw block, whose header states a size of the content (RFC 8878).
func zstdStating(size uint64, singleSegment bool, content string) string {
	frame := []byte("\x28\xb5\x2f\xfd\xc0")
	if singleSegment {
		frame[4] |= 1 << 5
	} else {
		frame = append(frame, 10<<3) // the window: 1 MiB
	}
	frame = binary.LittleEndian.AppendUint64(frame, size)
	block := binary.LittleEndian.AppendUint32(nil, uint32(len(content)<<3|1))
	return string(append(append(frame, block[:3]...), content...))
}

// TestStrangeFilesAreRefused has files that are well meant or damaged, and messages that say what to do.
func TestStrangeFilesAreRefused(t *testing.T) {
	const csv = "time,key,size\n1,a,5\n2,b,5\n"
	const log = `10.0.0.1 - - [01/Nov/2026:23:39:43 +0000] "GET /ö HTTP/1.1" 200 5 "-" "curl"` + "\n"
	const iconv = "is text in UTF-16, want UTF-8: iconv -f UTF-16"
	ttl := func(ttl string) string { return "time,key,op,size,ttl\n1,a,set,5," + ttl + "\n2,a,get,5,\n" }
	for _, test := range []struct{ name, content, format, want string }{
		{"LE", utf16Text(csv, binary.LittleEndian), "", iconv + "LE -t UTF-8 FILE | cachesim run -"},
		{"BE", utf16Text(csv, binary.BigEndian), "", iconv + "BE -t UTF-8"},
		{"named", utf16Text(csv, binary.LittleEndian), "csv", iconv + "LE -t UTF-8"},
		{"marked", "\xff\xfe" + utf16Text(csv, binary.LittleEndian), "csv", iconv + "LE -t UTF-8"},
		{"log", utf16Text(log, binary.LittleEndian), "", iconv + "LE -t UTF-8"},
		{"binary", "a\x00b\x01c\x02d\x03e\x00f\x04g\x00h\x05", "", "looks like binary data"},

		{"2^62 in a segment", zstdStating(1<<62, true, csv), "", "zstd data is damaged: it states a content of " +
			"4611686018427387904 bytes; get the file again, or test it with zstd -t"},
		{"2^62", zstdStating(1<<62, false, csv), "", "it states a content of 4611686018427387904 bytes"},
		{"2^64-1", zstdStating(1<<64-1, true, csv), "", "it states a content of 18446744073709551615 bytes"},
		{"2^40 in a segment", zstdStating(1<<40, true, csv), "", "zstd data needs a window of more than 128 MiB"},
		{"2^40", zstdStating(1<<40, false, csv), "", "frame size does not match"},
		{"as stated", zstdStating(uint64(len(csv)), true, csv), "", ""},

		{"ttl 2^63-1", ttl("9223372036854775807"), "", `line 2: column 5: time to live "9223372036854775807": is ` +
			"longer than the 292 years that are counted: want at most 9223372036, or nothing where the object never expires"},
		{"ttl 10^30", ttl("1000000000000000000000000000000"), "", "is longer than the 292 years"},
		{"ttl 2^63-1 ns", ttl("9223372036"), "", ""},
		{"ttl word", ttl("soon"), "", `time to live "soon": want a number from 0, or nothing`},
	} {
		path := filepath.Join(t.TempDir(), "trace")
		must.Do(t, os.WriteFile(path, []byte(test.content), 0o644))
		_, err := Load(t.Context(), []string{path}, Options{Selection: Selection{Format: test.format}})
		switch {
		case test.want == "" && err != nil:
			t.Errorf("%s: error %v", test.name, err)
		case test.want != "" && (err == nil || !strings.HasPrefix(err.Error(), path+": ") ||
			!strings.Contains(err.Error(), test.want)):
			t.Errorf("%s: error %v, want %q", test.name, err, test.want)
		}
	}
}
