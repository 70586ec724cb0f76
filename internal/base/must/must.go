// Package must ends a test at an error that it does not expect. It is for tests only: must.Do takes the error of a call
// that has no other result, must.Get keeps the other results.
package must

// TB is what package must needs of *testing.T, *testing.B, *testing.F and *rapid.T.
type TB interface {
	Helper()
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
