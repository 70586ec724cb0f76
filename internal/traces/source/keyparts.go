package source

import "bytes"

// KeyParts joins the parts of a composite key, such as a host and a path, to one text. Different parts give different
// texts: a bar separates them, and a backslash precedes each bar and backslash within a part. A second part that begins
// with a slash follows the first without a bar, if the first has no slash, so that a host and a path are written as in
// a URL: example.com/logo.png.
type KeyParts struct {
	text   []byte
	parts  int
	filled bool // a part is not empty
}

// Reset begins another key. What Text returned becomes invalid.
func (k *KeyParts) Reset() { *k = KeyParts{text: k.text[:0]} }

// Add appends a part.
func (k *KeyParts) Add(part []byte) {
	asPath := k.parts == 1 && len(part) > 0 && part[0] == '/' && bytes.IndexByte(k.text, '/') < 0
	if k.parts > 0 && !asPath {
		k.text = append(k.text, '|')
	}
	k.parts++
	k.filled = k.filled || len(part) > 0
	if bytes.IndexByte(part, '|') < 0 && bytes.IndexByte(part, '\\') < 0 {
		k.text = append(k.text, part...)
		return
	}
	for _, c := range part {
		if c == '|' || c == '\\' {
			k.text = append(k.text, '\\')
		}
		k.text = append(k.text, c)
	}
}

// Text returns the key, nil if all parts are empty.
func (k *KeyParts) Text() []byte {
	if !k.filled {
		return nil
	}
	return k.text
}
