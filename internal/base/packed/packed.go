// Package packed unpacks files that the program was built with. They are compressed with Zstandard, so that people
// download less; Pack makes them.
package packed

import "github.com/klauspost/compress/zstd"

// Unpack returns the content of a file that Pack made. It panics if the file is damaged, as the program then is.
func Unpack(file []byte) []byte {
	reader, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err == nil {
		defer reader.Close()
		file, err = reader.DecodeAll(file, nil)
	}
	if err != nil {
		panic("packed: a file that the program was built with is damaged: " + err.Error())
	}
	return file
}

// Pack compresses a file as much as it can.
func Pack(content []byte) ([]byte, error) {
	writer, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	defer writer.Close()
	return writer.EncodeAll(content, nil), nil
}
