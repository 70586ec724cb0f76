package internal_test

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"testing"
)

// portable lists packages whose results are the same on every machine, down to the last bit.
var portable = []string{"base/metric", "base/neural/...", "base/random", "base/statistics", "cache/...", "clock/...",
	"oracle/gbm", "oracle/predict", "oracle/predictors", "policies/...", "serving/...", "results/accuracy",
	"results/tracestat", "sim/ontrace", "sim/trees",
	"similarity/softmax", "traces/attention", "traces/gen", "traces/recommender"}

// fused matches an instruction of arm64 that multiplies and adds with one rounding, and captures its place.
var fused = regexp.MustCompile(`\(([^()]*/internal/[^()]*:\d+)\)\s+FN?M(?:ADD|SUB)[DS]\b`)

// TestPortablePackagesFuseNothing compiles packages for arm64, where Go may compute x*y + z with one rounding, other
// than on amd64. A conversion forbids that: float64(x*y) + z.
func TestPortablePackagesFuseNothing(t *testing.T) {
	if os.Getenv("CACHESIM_PORTABLE") != "1" {
		t.Skip("compiles a large part of the program for arm64; make portable runs it, as CI does")
	}
	arguments := []string{"build", "-trimpath", "-gcflags=-S"}
	for _, name := range portable {
		arguments = append(arguments, "./"+name)
	}
	build := exec.Command("go", arguments...)
	build.Env = append(os.Environ(), "GOOS=linux", "GOARCH=arm64", "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %.2000s", err, out)
	}
	if !regexp.MustCompile(`\bFMULD\b`).Match(out) {
		t.Fatal("the compiler printed no multiplication, want its assembly")
	}
	var places []string
	for _, match := range fused.FindAllSubmatch(out, -1) {
		places = append(places, string(match[1]))
	}
	slices.Sort(places)
	for _, place := range slices.Compact(places) {
		t.Errorf("%s: a product is fused with a sum; round it first: float64(x*y) + z", place)
	}
}
