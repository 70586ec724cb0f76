package jsonlines

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/cachesim/cachesim/internal/base/testing/seeded"
)

func TestSealedTextIsJSON(t *testing.T) {
	for _, text := range []string{`{"a":1}`, "{\"a\":1}\n"} {
		sealed := Seal([]byte(text))
		var fields struct {
			A      int
			Digest string
		}
		if err := json.Unmarshal(sealed, &fields); err != nil || fields.A != 1 || fields.Digest != Digest([]byte(`{"a":1`)) {
			t.Errorf("%s: %s, %v", text, sealed, err)
		}
		if opened, err := Unseal(sealed); err != nil || string(opened) != "{\"a\":1}\n" {
			t.Errorf("%s opened is %s, %v", sealed, opened, err)
		}
	}
}

// Only the sealed text passes: any flipped, missing or added bit is noticed.
func TestEveryChangeIsFound(t *testing.T) {
	sealed := Seal([]byte(`{"misses":346168,"hit_ratio":0.25}`))
	passes := func(text []byte) bool {
		_, err := Unseal(text)
		return err == nil
	}
	for i := range 8 * len(sealed) {
		sealed[i/8] ^= 1 << (i % 8)
		if passes(sealed) {
			t.Errorf("bit %d of byte %d may be another", i%8, i/8)
		}
		sealed[i/8] ^= 1 << (i % 8)
	}
	for n := range sealed {
		if passes(sealed[:n]) {
			t.Errorf("it may end after %d bytes", n)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		other := rapid.SliceOfN(rapid.Byte(), 0, 200).Draw(t, "text")
		if passes(other) || passes(append(sealed[:len(sealed):len(sealed)], append(other, 0)...)) {
			t.Errorf("%q passes", other)
		}
	})
}
