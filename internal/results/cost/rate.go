package cost

import (
	"fmt"
	"strconv"
	"strings"
)

// ParseRate reads how often requests come ("1200/s", "40000/min", "2e6/h", "5e9/day"), and returns the number per
// second.
func ParseRate(text string) (float64, error) {
	number, per, _ := strings.Cut(text, "/")
	n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	seconds := map[string]float64{"s": 1, "min": 60, "h": 3600, "day": 86400}[strings.TrimSpace(per)]
	if err != nil || !(n > 0 && n < 1e15) || seconds == 0 {
		return 0, fmt.Errorf("%q: want requests per time: 1200/s, 40000/min, 2e6/h or 5e9/day", text)
	}
	return n / seconds, nil
}
