package parquet

import (
	"bytes"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go/format"
)

// TestPagesThatClaimTooMuch: a page whose values cannot need that many bytes is refused before memory is allocated for
// them.
func TestPagesThatClaimTooMuch(t *testing.T) {
	header := []byte{
		0x15, 0, // type 0
		0x15, 0xfe, 0xff, 0xff, 0xff, 0x0f, // uncompressed size 2^31-1
		0x15, 2, // compressed size 1
		0x2c, 0x15, 4, 0, // data page: 2 values
		0, 'x',
	}
	check := checker{r: bytes.NewReader(header), size: int64(len(header))}
	if _, err := check.page(format.Uncompressed, 0, int64(len(header))); err == nil ||
		!strings.Contains(err.Error(), "claims 2 values in 2147483647 bytes") {
		t.Errorf("got error %v", err)
	}
	header[3], header[4], header[5], header[6], header[7] = 0x82, 0x80, 0x80, 0x80, 0x00 // 1 byte
	if n, err := check.page(format.Uncompressed, 0, int64(len(header))); err != nil || n != int64(len(header)) {
		t.Errorf("got length %d and error %v, want %d", n, err, len(header))
	}
}
