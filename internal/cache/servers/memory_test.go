package servers

import "testing"

// TestItemsOfRedis: used_memory of Redis 7.0.15 with Debian's jemalloc, per item.
func TestItemsOfRedis(t *testing.T) {
	m := redisMemory{jemalloc: jemalloc{quantum: 16}}
	for _, c := range []struct{ key, value, want int64 }{
		{20, 245, 336}, {54, 300, 432}, {8, 5, 80}, {20, 44, 128}, {54, 100_000, 114_800},
	} {
		if got := m.item(c.key, c.value, false, false); got != c.want {
			t.Errorf("a key of %d bytes and a value of %d take %d, want %d", c.key, c.value, got, c.want)
		}
	}
}

// TestBlocksOfJemalloc: the size classes of jemalloc's manual, and the pages of 5.3.1.
func TestBlocksOfJemalloc(t *testing.T) {
	classes := []int64{8, 16, 32, 48, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 448, 512, 640, 768, 896, 1024,
		1280, 1536, 1792, 2048, 2560}
	n := int64(1)
	for _, class := range classes {
		for ; n <= class; n++ {
			if got := (jemalloc{quantum: 16}).block(n); got != class {
				t.Fatalf("%d bytes take %d, want %d", n, got, class)
			}
		}
	}
	for _, c := range []struct {
		j       jemalloc
		n, want int64
	}{
		{jemalloc{quantum: 8}, 17, 24}, {jemalloc{quantum: 8}, 65, 80}, {jemalloc{quantum: 16}, 33_000, 40_960},
		{jemalloc{quantum: 16}, 50_000, 57_344}, {jemalloc{16, true}, 33_000, 36_864}, {jemalloc{16, true}, 50_000, 53_248},
	} {
		if got := c.j.block(c.n); got != c.want {
			t.Errorf("%+v: %d bytes take %d, want %d", c.j, c.n, got, c.want)
		}
	}
}

// TestSettings: numbers as the configurations of servers have them.
func TestSettings(t *testing.T) {
	for text, want := range map[string]int64{"8mb": 8 << 20, "1gb": 1 << 30, "256 MB": 256 << 20, "10g": 10 << 30,
		"1.5k": 1536, "4096": 4096, "-1": 0, "": 0, "8mx": 0, "1e400g": 0, "0": 0} {
		if got, err := bytesOf(text); got != want || (err == nil) != (want > 0) {
			t.Errorf("%q: %d, %v, want %d", text, got, err, want)
		}
	}
	if got, err := megabytes("64"); got != 64<<20 || err != nil {
		t.Errorf("-m 64: %d, %v", got, err)
	}
	for text, want := range map[string]int64{"10m": 600 * second, "30": 30 * second, "1d": 86400 * second,
		"1h30m": 5400 * second, "500ms": second / 2, "x": -1, "-5s": -1, "d": -1} {
		if got, err := nginxTime(text); err == nil && got != want || err != nil && want >= 0 {
			t.Errorf("%q: %d, %v, want %d", text, got, err, want)
		}
	}
}
