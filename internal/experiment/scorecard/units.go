package scorecard

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/internal/base/show"
)

const numeral = `(-?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:e[-+]?\d+)?)(%?)`

var (
	number = regexp.MustCompile(numeral)
	// after are the words before a measured value; places, as in "capacity 250", have their own before them.
	after = regexp.MustCompile(`(^|: |[<>=] |beside |outside |inside |±|from |to |, |` +
		`(?:behind|level with|ahead of) \S+ )` + numeral)
	ranked = regexp.MustCompile(`(^|: )(\S+ )` + numeral + `( is number )`)
	// aside is what is said besides, in which numbers have other units.
	aside   = regexp.MustCompile(`, read as |; over \d|; [\d,]+ points? left out|; no record at |, number \d`)
	apart   = regexp.MustCompile(`(\d)% (apart|allowed)`)
	halfOf  = regexp.MustCompile(`±` + numeral)
	between = regexp.MustCompile(numeral + `((?: [<>=] | beside )` + numeral + `)+`)
)

// withUnits gives the values of a measured text their unit. Half a confidence interval has two digits, and no value
// has more decimals than that, unless two values that differ would then look alike.
func withUnits(measured, unit string) string {
	text, rest := measured, ""
	if at := aside.FindStringIndex(measured); at != nil {
		text, rest = measured[:at[0]], measured[at[0]:]
	}
	decimals := math.MaxInt
	if half := halfOf.FindStringSubmatch(text); half != nil {
		decimals = twoDigits(value(half[1]))
		if chain := between.FindString(text); chain != "" && alike(chain, decimals) {
			decimals = math.MaxInt
		}
	}
	text = ranked.ReplaceAllStringFunc(text, func(found string) string {
		m := ranked.FindStringSubmatch(found)
		return m[1] + m[2] + written(m[3], m[4], unit, decimals) + m[5]
	})
	text = after.ReplaceAllStringFunc(text, func(found string) string {
		m := after.FindStringSubmatch(found)
		if m[1] == "±" {
			return m[1] + written(m[2], m[3], unit, twoDigits(value(m[2])))
		}
		return m[1] + written(m[2], m[3], unit, decimals)
	})
	return apart.ReplaceAllString(text, "$1 points $2") + rest
}

// alike reports whether two neighbours in a chain of values would look alike with that many decimals, but do not now.
func alike(chain string, decimals int) bool {
	var texts, rounded []string
	for _, m := range number.FindAllStringSubmatch(chain, -1) {
		texts, rounded = append(texts, m[1]), append(rounded, written(m[1], m[2], "", decimals))
	}
	return len(slices.Compact(rounded)) < len(slices.Compact(texts))
}

// value is the number that a numeral writes.
func value(text string) float64 {
	x, _ := strconv.ParseFloat(strings.ReplaceAll(text, ",", ""), 64) // a numeral
	return x
}

// twoDigits is how many decimals a number needs to have two digits.
func twoDigits(x float64) int {
	if x == 0 {
		return 0
	}
	return max(0, 1-int(math.Floor(math.Log10(math.Abs(x)))))
}

// written writes a numeral with its unit and at most that many decimals.
func written(text, percent, unit string, most int) string {
	x := value(text)
	if (unit == "%" || unit == "points") && percent == "" { // a number of the claim, as in 0.3
		percent, x = "%", x*100
		text = strconv.FormatFloat(x, 'g', 6, 64)
	}
	decimals := 0
	if strings.Contains(text, "e") {
		decimals = len(strings.TrimLeft(strings.TrimPrefix(strconv.FormatFloat(math.Abs(x), 'f', -1, 64), "0"), "."))
	} else if _, after, found := strings.Cut(text, "."); found {
		decimals = len(after)
	}
	whole, fraction, found := strings.Cut(strconv.FormatFloat(math.Abs(x), 'f', min(decimals, most), 64), ".")
	if n, err := strconv.ParseInt(whole, 10, 64); err == nil {
		whole = show.Count(n)
	}
	if found {
		whole += "." + fraction
	}
	if x < 0 {
		whole = "-" + whole
	}
	switch {
	case percent != "" && unit != "points" || unit == "":
		return whole + percent
	case unit == "x" || strings.HasPrefix(unit, "/"):
		return whole + unit
	}
	return whole + " " + unit
}
