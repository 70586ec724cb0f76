// Package must ends a test at an unexpected error, and reports the lack of an expected one. It is for tests only.
// must.Do is for calls that return only an error, must.Get for others; must.Fail and must.NotGet are for calls that
// must fail.
package must

import (
	"fmt"
	"strings"
)

// TB is what package must needs of *testing.T, *testing.B, *testing.F and *rapid.T.
type TB interface {
	Helper()
	Errorf(format string, args ...any)
	Fatal(args ...any)
}

// Do ends the test if err is not nil.
func Do(t TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Get takes the results of a call. The function that it returns ends the test if there was an error; it is a function
// because Go passes several results on only where they are all arguments: must.Get(policies.Parse(text))(t).
func Get[V any](v V, err error) func(TB) V {
	return func(t TB) V {
		t.Helper()
		Do(t, err)
		return v
	}
}

// Get2 is Get for calls with two results and an error.
func Get2[V, W any](v V, w W, err error) func(TB) (V, W) {
	return func(t TB) (V, W) {
		t.Helper()
		Do(t, err)
		return v, w
	}
}

// Fail reports an error, and the test continues, unless err is an error with want in its text. about says what was
// tried.
func Fail(t TB, err error, want string, about ...any) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		said := ""
		if len(about) > 0 {
			said = strings.TrimSpace(fmt.Sprintln(about...)) + ": "
		}
		t.Errorf("%verror %v, want one with %q", said, err, want)
	}
}

// NotGet is Fail for calls with another result: must.NotGet(policies.Parse(text))(t, "unknown policy", text).
func NotGet[V any](_ V, err error) func(t TB, want string, about ...any) {
	return func(t TB, want string, about ...any) {
		t.Helper()
		Fail(t, err, want, about...)
	}
}
