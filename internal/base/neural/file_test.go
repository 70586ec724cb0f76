package neural

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/base/testing/must"
)

func written(t testing.TB) (*Network, string) {
	t.Helper()
	n := New(2, 3, 1)
	n.Initialise(random.Stream(1, 1))
	n.Round()
	var b bytes.Buffer
	must.Do(t, n.Write(&b, "made by \"hand\"\n", 7))
	return n, b.String()
}

func TestFileIsReadAsItWasWritten(t *testing.T) {
	n, text := written(t)
	got, made := must.Get2(Read(strings.NewReader(text), 2, 3, 1))(t)
	if !slices.Equal(got.Weights(), n.Weights()) || made != "made by \"hand\"\n" {
		t.Errorf("read %v, made by %q; want %v", got.Weights(), made, n.Weights())
	}
}

// parameter returns text with another value of parameter i.
func parameter(text string, i int, value string) string {
	at := strings.Index(text, "parameters")
	head, list := text[:at], strings.Split(text[at:], ",")
	first, last := "", ""
	if i == 0 {
		first = "parameters\": ["
	}
	if i == len(list)-1 {
		last = "]}"
	}
	list[i] = first + value + last
	return head + strings.Join(list, ",")
}

func TestBadFiles(t *testing.T) {
	_, text := written(t)
	for _, c := range []struct{ text, want string }{
		{"", "no weights of a network in JSON"},
		{"PNG", "no weights of a network in JSON"},
		{strings.Replace(text, `"seed": 7`, `"seed": 7, "colour": 1`, 1), `unknown field "colour"`},
		{text + "1", "text follows the weights"},
		{strings.Replace(text, format, "cachesim network 9", 1), `format "cachesim network 9", want`},
		{strings.Replace(text, `"tanh"`, `"relu"`, 1), `activation "relu", want "tanh"`},
		{strings.Replace(text, "[2,3,1]", "[2,30,1]", 1), "layers of 2-30-1 neurons, want 2-3-1"},
		{strings.Replace(text, "[2,3,1]", "[]", 1), "layers of no neurons, want 2-3-1"},
		{strings.Replace(text, "[2,3,1]", "["+strings.Repeat("1,", 99)+"1]", 1), "1-1-..."},
		{strings.Replace(text, "\n]", ",1\n]", 1), "14 parameters, want 13 for layers of 2-3-1 neurons"},
		{parameter(text, 0, "null"), `parameter 0 of layer 1 of 2 is "null", want a number from -1e+30 to 1e+30`},
		{parameter(text, 8, "1e300"), `parameter 8 of layer 1 of 2 is "1e300", want`},
		{parameter(text, 9, "-2e30"), `parameter 0 of layer 2 of 2 is "-2e+30", want`},
		{parameter(text, 0, "NaN"), `parameter 0 of layer 1 of 2 is "NaN", want`},
		{parameter(text, 10, "-Infinity"), `parameter 1 of layer 2 of 2 is "-Infinity", want`},
		{parameter(text, 12, "nan"), `parameter 3 of layer 2 of 2 is "nan", want`},
		{parameter(text, 12, "1,NaN"), "invalid character 'N'"}, // one too many
		{strings.Replace(text, `"seed": 7`, `"seed": NaN`, 1), "invalid character 'N'"},
		{text[:len(text)/2], "no weights of a network in JSON"},
		{strings.Repeat(" ", maxFile+1), "more than 16 MiB"},
	} {
		if n, _, err := Read(strings.NewReader(c.text), 2, 3, 1); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("read %v with error %v, want %q", n, err, c.want)
		}
	}
	n := New(1, 1)
	n.Weights()[0] /= n.Weights()[0]
	must.Fail(t, n.Write(&bytes.Buffer{}, "", 0), "is \"NaN\"", "a network with NaN is written")
}

func FuzzRead(f *testing.F) {
	_, text := written(f)
	f.Add([]byte(text))
	for i, value := range []string{"null", "NaN", "-Infinity", "1e300", "3e38", "1000", `"1"`} {
		f.Add([]byte(parameter(text, 2*i, value)))
	}
	f.Add([]byte(`{"format":"cachesim network 1","widths":[2,3,1]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		n, made, err := Read(bytes.NewReader(text), 2, 3, 1)
		if err != nil {
			return
		}
		for _, y := range n.Forward([]float64{1, 1}, n.NewWork(1)) {
			if math.IsNaN(y) || math.IsInf(y, 0) {
				t.Fatalf("parameters %v give the output %v", n.Weights(), y)
			}
		}
		var b bytes.Buffer
		must.Do(t, n.Write(&b, made, 1))
		again, _, err := Read(&b, 2, 3, 1)
		if err != nil || !slices.Equal(again.Weights(), n.Weights()) {
			t.Fatalf("read %v again as %v, error %v", n.Weights(), again, err)
		}
	})
}
