package configs

import "testing"

func TestNamesHaveTexts(t *testing.T) {
	if len(Names()) == 0 {
		t.Fatal("there are no experiments")
	}
	for _, name := range Names() {
		if len(Text(name)) == 0 {
			t.Errorf("%s has no text", name)
		}
	}
	if Text("no-such") != nil || Text("../configs") != nil {
		t.Error("a name that does not exist has a text")
	}
}
