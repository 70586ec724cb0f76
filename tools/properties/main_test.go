package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestFind has tests that draw themselves, through a function, a method, and a package for tests; and some that do not.
func TestFind(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"configs/a_test.go": `package configs
func TestSelf(t *testing.T) { t.Run("x", func(t *testing.T) { rapid.Check(t, nil) }) }
func TestExample(t *testing.T) { rapid.Int().Example(1) }`,
		"internal/b/b_test.go": `package b_test
func TestThroughFunction(t *testing.T) { all := []func(*testing.T){one}; all[0](t) }
func TestThroughMethod(t *testing.T) { suite{}.draw(t) }
func TestPlain(t *testing.T) { other.Draw(t) }
func BenchmarkDraws(b *testing.B) { one(b) }`,
		"internal/b/helpers_test.go": `package b_test
func one(t *testing.T) { two(t) }
func two(t *testing.T) { t.Run("y", rapid.MakeCheck(nil)) }
func (suite) draw(t *testing.T) { one(t) }`,
		"cmd/c/c_test.go": `package main
func TestThroughPackage(t *testing.T) { btest.Suite(t) }`,
		"internal/b/btest/btest.go": `package btest
func Suite(t *testing.T) { rapid.Check(t, nil) }`,
		"cmd/d/d_test.go": `package main
func TestNothing(t *testing.T) {}`,
	} {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	names, folders, err := find(root)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"TestSelf", "TestThroughFunction", "TestThroughMethod", "TestThroughPackage"}; !slices.Equal(names,
		want) {
		t.Errorf("tests %q, want %q", names, want)
	}
	if want := []string{"./cmd/c", "./configs", "./internal/b"}; !slices.Equal(folders, want) {
		t.Errorf("folders %q, want %q", folders, want)
	}
}
