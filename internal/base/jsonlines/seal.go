package jsonlines

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
)

// ErrDamaged says that a content was changed or truncated, or never had a digest.
var ErrDamaged = errors.New("its digest is missing or wrong: it is damaged, or was written by an older version")

// The last field of a sealed Seal object.
const (
	fieldStart = `,"digest":"`
	fieldEnd   = "\"}\n"
	fieldLen   = len(fieldStart) + 2*sha256.Size + len(fieldEnd)
)

// Seal seals a text that ends in a Seal object with at least one field: the digest becomes the last field of the
// object.
func Seal(text []byte) []byte {
	body := bytes.TrimSuffix(bytes.TrimSuffix(text, []byte("\n")), []byte("}"))
	return append(bytes.Clone(body), fieldStart+Digest(body)+fieldEnd...)
}

// Unseal returns the content of a text that Seal has sealed, ErrDamaged if the digest does not match.
func Unseal(text []byte) ([]byte, error) {
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
