package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// Each fault has a place in the program, and a name of its own.
func TestFaultsHavePlaces(t *testing.T) {
	names := map[string]bool{}
	for _, f := range faults {
		text, err := os.ReadFile(filepath.Join("..", "..", f.file))
		if err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(text, []byte(f.from)); n != 1 || f.from == f.to {
			t.Errorf("%s: %s has %q %d times", f.name, f.file, f.from, n)
		}
		if names[f.name] {
			t.Errorf("there are several faults %s", f.name)
		}
		names[f.name] = true
	}
}

func TestChoose(t *testing.T) {
	if all, err := choose(""); err != nil || len(all) != len(faults) {
		t.Errorf("%d faults, error %v", len(all), err)
	}
	if one, err := choose("laru-is-lru"); err != nil || len(one) != 1 || one[0].name != "laru-is-lru" {
		t.Errorf("faults %v, error %v", one, err)
	}
	if _, err := choose("laru-is-lru,none"); err == nil {
		t.Error("a fault that does not exist is no error")
	}
}

func TestConcerns(t *testing.T) {
	for _, c := range []struct {
		listed, experiment string
		want               bool
	}{
		{"hlem-fig1", "hlem-fig1", true},
		{"hlem-fig1", "hlem-fig10", false},
		{"hlem-", "hlem-fig10", true},
		{"", "hlem-fig10", true},
		{"routers", "routers-shared", false},
	} {
		if got := (fault{experiments: []string{c.listed}}).concerns(c.experiment); got != c.want {
			t.Errorf("%q concerns %s: %v, want %v", c.listed, c.experiment, got, c.want)
		}
	}
}
