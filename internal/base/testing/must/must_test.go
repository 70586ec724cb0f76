package must

import (
	"errors"
	"fmt"
	"reflect"
	"testing"
)

// stopped is a test that notes why it ended.
type stopped struct{ why []any }

func (s *stopped) Helper()           {}
func (s *stopped) Fatal(args ...any) { s.why = append(s.why, args...) }
func (s *stopped) Errorf(format string, args ...any) {
	s.why = append(s.why, fmt.Sprintf(format, args...))
}

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

func TestFailReportsWhatDoesNotFail(t *testing.T) {
	s := &stopped{}
	Fail(s, errors.New("no such file"), "such")
	NotGet(1, errors.New("no such file"))(s, "no", "a.txt")
	if s.why != nil {
		t.Errorf("expected errors were reported: %v", s.why)
	}
	Fail(s, nil, "such")
	NotGet(1, errors.New("no such file"))(s, "full", "a.txt", 7)
	want := []any{`error <nil>, want one with "such"`, `a.txt 7: error no such file, want one with "full"`}
	if !reflect.DeepEqual(s.why, want) {
		t.Errorf("reported %q, want %q", s.why, want)
	}
}
