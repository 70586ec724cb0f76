package machine

import (
	"runtime"
	"testing"
)

func TestNamed(t *testing.T) {
	for cpuinfo, want := range map[string]string{
		"processor\t: 0\nmodel name\t: AMD  EPYC \nmodel name\t: other\n": "2 cores, AMD EPYC",
		"": "2 cores, " + runtime.GOARCH,
	} {
		if got := named(2, []byte(cpuinfo)); got != want {
			t.Errorf("%q is named %q, want %q", cpuinfo, got, want)
		}
	}
}
