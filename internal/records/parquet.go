package records

import (
	"bytes"
	"errors"
	"regexp"
	"strings"

	"github.com/parquet-go/parquet-go"

	"github.com/cachesim/cachesim/internal/seal"
)

// The metadata of a Parquet file of records holds a digest of the whole file, in which it stands as zeros itself.
const parquetDigestName = "cachesim-sha256"

var (
	noDigest = strings.Repeat("0", 64)
	// parquetDigest finds the digest: in Thrift, its type and its length stand between it and its name.
	parquetDigest = regexp.MustCompile(parquetDigestName + "\x18\x40" + "([0-9a-f]{64})")
)

// encodedParquet returns a Parquet file of records.
func encodedParquet(recs []Record) ([]byte, error) {
	var file bytes.Buffer
	p := parquet.NewGenericWriter[Record](&file, parquet.Compression(&parquet.Zstd),
		parquet.KeyValueMetadata(parquetDigestName, noDigest))
	if _, err := p.Write(recs); err != nil {
		return nil, err
	}
	if err := p.Close(); err != nil {
		return nil, err
	}
	at := placeOfDigest(file.Bytes())
	if at == nil {
		return nil, errors.New("the Parquet file has no place for its digest")
	}
	digest := seal.Digest(file.Bytes())
	copy(at, digest)
	return file.Bytes(), nil
}

// placeOfDigest returns where the digest stands in a Parquet file, nil where it has none.
func placeOfDigest(file []byte) []byte {
	places := parquetDigest.FindAllSubmatchIndex(file, -1)
	if places == nil {
		return nil
	}
	last := places[len(places)-1]
	return file[last[2]:last[3]]
}

// checkParquet refuses a file that is not as it was written, before anything goes by what it says. One without a
// digest, as of other programs, passes.
func checkParquet(data []byte) error {
	data = bytes.Clone(data)
	at := placeOfDigest(data)
	if at == nil {
		return nil
	}
	digest := string(at)
	copy(at, noDigest)
	if seal.Digest(data) != digest {
		return errors.New("damaged Parquet file: its digest is not that of its content; make it anew")
	}
	return nil
}
