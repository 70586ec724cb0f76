package cost

import "testing"

// FuzzParse reads what users may write. What is read is written so that it is read again as the same.
func FuzzParse(f *testing.F) {
	for _, text := range []string{example, "elasticache,miss=0.5/M", "memory=€3.20/GiB-hour,egress=.08/GB",
		"s3,dynamodb", "hbm=9/GiB-month,ssd=.1/GB-day,ssd-write=9/TB,remote-read=1/GB,miss=1/M", "memory=1e9/B-day,miss=2/1",
		"memory=/GiB-month,miss=1/K"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Parse(text)
		if err != nil {
			return
		}
		if again, err := Parse(p.String()); err != nil || again != p {
			t.Errorf("%q is %+v, written as %q and read again as %+v, %v", text, p, p, again, err)
		}
	})
}
