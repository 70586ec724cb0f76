// Package seal appends a digest to what the program stores on disk, so that it can read it again safely. Any later
// change of the content makes the digest wrong.
package seal

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
)

// ErrDamaged says that a content was changed or truncated, or never had a digest.
var ErrDamaged = errors.New("its digest is missing or wrong: it is damaged, or was written by an older version")

// The last field of a sealed JSON object.
const (
	fieldStart = `,"digest":"`
	fieldEnd   = "\"}\n"
	fieldLen   = len(fieldStart) + 2*sha256.Size + len(fieldEnd)
)

// JSON seals a text that ends in a JSON object with at least one field: the digest becomes the last field of the
// object.
func JSON(text []byte) []byte {
	body := bytes.TrimSuffix(bytes.TrimSuffix(text, []byte("\n")), []byte("}"))
	return append(bytes.Clone(body), fieldStart+Digest(body)+fieldEnd...)
}

// Open returns the content of a text that JSON has sealed, ErrDamaged if the digest does not match.
func Open(text []byte) ([]byte, error) {
	if len(text) < fieldLen {
		return nil, ErrDamaged
	}
	body, field := text[:len(text)-fieldLen], text[len(text)-fieldLen:]
	if string(field) != fieldStart+Digest(body)+fieldEnd {
		return nil, ErrDamaged
	}
	return append(bytes.Clone(body), "}\n"...), nil
}

// Digest returns the SHA-256 of a content in hexadecimal.
func Digest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}
