package read_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/read"
)

// Load reads a file in any format, compressed or not, into columns: objects are numbered in order of first appearance.
func ExampleLoad() {
	dir, err := os.MkdirTemp("", "traces")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "day1.csv")
	if err := os.WriteFile(path, []byte("time,key,size\n0,a,100\n1,b,50\n2,a,100\n"), 0o600); err != nil {
		panic(err)
	}
	t, err := read.Load(context.Background(), []string{path},
		read.Options{Needs: traces.Needs{Sizes: true, Times: true}})
	if err != nil {
		panic(err)
	}
	fmt.Println(t.Objects, t.NumObjects, t.ObjectSizes, t.Times)
	fmt.Println(t.ReadAs())
	// Output:
	// [0 1 0] 2 [100 50] [0 1000000000 2000000000]
	// csv, comma; key, time in s, size
}
