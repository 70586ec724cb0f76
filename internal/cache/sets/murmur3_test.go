package sets

import "testing"

// TestMurmur3 compares the hash with published values of MurmurHash3_x86_32.
func TestMurmur3(t *testing.T) {
	for _, c := range []struct {
		text string
		seed uint32
		want uint32
	}{
		{"", 0, 0},
		{"", 1, 0x514e28b7},
		{"", 0xffffffff, 0x81f16f39},
		{"\xff\xff\xff\xff", 0, 0x76293b50},
		{"\x21\x43\x65\x87", 0, 0xf55b516b},
		{"\x21\x43\x65\x87", 0x5082edee, 0x2362f9de},
		{"\x21\x43\x65", 0, 0x7e4a8634},
		{"\x21\x43", 0, 0xa0f7b07a},
		{"\x21", 0, 0x72661cf4},
		{"\x00\x00\x00\x00", 0, 0x2362f9de},
		{"test", 0, 0xba6bd213},
		{"Hello, world!", 0x9747b28c, 0x24884cba},
		{"The quick brown fox jumps over the lazy dog", 0x9747b28c, 0x2fa826cd},
	} {
		if got := murmur3([]byte(c.text), c.seed); got != c.want {
			t.Errorf("%q, seed %#x: %#x, want %#x", c.text, c.seed, got, c.want)
		}
	}
	if got, want := murmur3OfNumber(
		0x0807060504030201,
	), murmur3(
		[]byte("\x01\x02\x03\x04\x05\x06\x07\x08"),
		0,
	); got != want {
		t.Errorf("a number hashes to %#x, its bytes to %#x", got, want)
	}
}
