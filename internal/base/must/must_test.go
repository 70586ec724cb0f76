package must

import (
	"errors"
	"testing"
)

// stopped is a test that notes why it ended.
type stopped struct{ why []any }

func (s *stopped) Helper()           {}
func (s *stopped) Fatal(args ...any) { s.why = append(s.why, args...) }

func TestMustEndsATestAtAnError(t *testing.T) {
	wrong := errors.New("wrong")
	for _, test := range []struct {
		err  error
		want int
	}{{nil, 0}, {wrong, 3}} {
		s := &stopped{}
		Do(s, test.err)
		if v := Get(1, test.err)(s); v != 1 {
			t.Errorf("Get returned %d, want 1", v)
		}
		if v, w := Get2(1, "two", test.err)(s); v != 1 || w != "two" {
			t.Errorf("Get2 returned %d and %q, want 1 and two", v, w)
		}
		if len(s.why) != test.want || test.want > 0 && s.why[0] != wrong {
			t.Errorf("error %v: the test ended for %v", test.err, s.why)
		}
	}
}
