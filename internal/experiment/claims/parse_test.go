package claims

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cachesim/cachesim/internal/records"
)

func TestParseErrors(t *testing.T) {
	const statement = "want a comparison (== != < <= > >=), between A and B, about A, increases with " +
		"DIMENSION, never decreases with DIMENSION, is monotone in DIMENSION or is first among POLICIES"
	const value = "want a value, for example hit_ratio(lru), 40% or max over GROUP of hit_ratio"
	const rest = "want the end, where, within or at N% of points"
	for text, want := range map[string]string{
		"":                  "column 1: the end is unexpected here; " + value,
		"hit_ratio(lru)":    "column 15: the end is unexpected here; " + statement,
		"hit_ratio(lru) >":  "column 17: the end is unexpected here; " + value,
		"hit_ratio lru > 3": `column 11: "lru" is unexpected here; ` + statement,
		"hit_ratio(a) increase with capacity": `column 14: "increase" is unexpected here; ` + statement + `; did ` +
			`you mean "increases"?`,
		"hit_ratio(a) ≥ 3":  `column 14: "≥" is unexpected here; ` + statement + "; write >=",
		"hit_ratio(a) => 3": `column 14: "=>" is unexpected here; ` + statement + "; write >=",
		"hit_ratio(lru) > 40% when trace = oltp": `column 22: "when" is unexpected here; ` + rest + `; did you mean ` +
			`"where"?`,
		"hit_ratio(a) > 1 and hit_ratio(b) > 1": `column 18: a claim says one thing: write what follows "and" as a ` +
			`claim of its own`,
		"hit_ratio(a) >= hit_ratio(b) for all traces": `column 30: "for" is unexpected here; ` + rest,
		"1 < 2":                             "column 1: the claim names no policy, so no record can decide it",
		"max over capacity of capacity > 3": "column 1: the claim names no policy, so no record can decide it",
		"misses(a) == misses( a )":          "column 1: both sides are misses(a)",
		"misses(a, b) == 3": `column 9: "," is unexpected here; want ")": misses takes one policy, in ` +
			`quotes if its name has characters other than letters, digits, . - and _`,
		"misses(a == 3": `column 10: "==" is unexpected here; want ")": misses takes one policy, in ` +
			`quotes if its name has characters other than letters, digits, . - and _`,
		"misses() == 3":            "column 8: want the name of a policy",
		"misses(arc(int=true == 3": "column 8: the policy's parameters lack a closing parenthesis",
		"misses('') == 3":          "column 8: want the name of a policy",
		"''(lru) == 3":             "column 1: want the name of a metric",
		"hit_ratio('a) > 1":        "column 11: the quote ' is not closed",
		"hit_ratio(a) is frist among b": `column 17: "frist" is unexpected here; want first, second, third, last, ` +
			`highest, lowest, monotone or constant; did you mean "first"?`,
		"hit_ratio(a) is first":         `column 22: the end is unexpected here; want "among" POLICIES`,
		"hit_ratio(a) is first among a": "column 1: a is compared only with itself",
		"hit_ratio(a)/hit_ratio(b) is first among c, d": "column 1: a ranked value must have exactly one policy; this one " +
			"has 2. With several, compare: A > max over POLICIES of B",
		"evictions(a) is first among c, d": "column 1: a higher value of evictions is neither better nor worse: write " +
			"highest or lowest",
		"(hit_ratio(a) + misses(a)) is first among c, d": "column 1: a value of several metrics has " +
			"no better direction: write highest or lowest",
		"hit_ratio(a) > max over b of hit_ratio + 1": `column 40: "+" is ambiguous here: put "... over ... of ...", or ` +
			`everything after its "of", in parentheses`,
		"hit_ratio(a) > max over b hit_ratio": `column 27: "hit_ratio" is unexpected here; want "of" and a value`,
		"hit_ratio(a) > (max over b of hit_ratio": `column 40: the end is unexpected here; want ")" to close the ` +
			`parenthesis`,
		"misses(a) == misses(b) within 1%": `column 33: misses(a) is a count, so a tolerance of 1% needs "of ` +
			`it": within 1% of it`,
		"misses(a) == misses(b) within": `column 30: the end is unexpected here; want a number: how much the ` +
			`sides may differ, for example "within 0.5%"`,
		"misses(a) == misses(b) within 1% of that": `column 37: "that" is unexpected here; want "it" after "of": ` +
			`relative to the right side`,
		"hit_ratio(a) increases with": "column 28: the end is unexpected here; want a dimension: trace, " +
			"capacity, seed or an axis",
		"hit_ratio(a) increases with capacity within 1%": `column 38: a value that increases cannot have a tolerance; ` +
			`write "never decreases"`,
		"hit_ratio(a) is constant in x within 1% of it": `column 31: the tolerance of a step is absolute: write "within 1%"`,
		"hit_ratio(a) > 1 where trace": "column 29: the end is unexpected here; want = != < <= > >= in " +
			"or between after trace",
		"hit_ratio(a) > 1 where trace < x": "column 24: traces have no order: use = != or in",
		"hit_ratio(a) > 1 where policy = x": `column 24: "where" restricts trace, capacity, seed or an axis; policies are ` +
			`named in the claim itself`,
		"hit_ratio(a) > 1 where capacity in 250,": "column 40: want a place on the dimension, for example oltp, 250 " +
			"or 1%",
		"hit_ratio(a) > 1 where capacity in 250 500": `column 40: "500" is unexpected here; ` + rest,
		"hit_ratio(a) > 1 at 0% of points": "column 21: the share of points is 0%; want a percentage above " +
			"0% and up to 100%",
		"hit_ratio(a) > 1 at 90 of points": "column 21: the share of points is 90; want a percentage above " +
			"0% and up to 100%",
		"hit_ratio(a) > 1e999":                "column 16: 1e999 is too large",
		"abs(hit_ratio(a), hit_ratio(b)) > 1": "column 1: abs takes one value",
		"max(hit_ratio(a)) > 1": "column 1: max of one value is that value: write max(A, B) or max " +
			"over DIMENSION of A",
		"argmax(hit_ratio(a)) > 1":           `column 7: "(" is unexpected here; want "over DIMENSION of VALUE" after argmax`,
		"abs over trace of hit_ratio(a) > 1": `column 5: "over" is unexpected here; want "(" after abs`,
		"hit_ratio(a) > 1 ) 2":               `column 18: ")" is unexpected here; ` + rest,
		"hit_ratio(a) > 1, 2":                `column 17: "," is unexpected here; ` + rest,
		"hit_ratio(a) != 1 < 2":              "column 19: != compares two values only",
		"hits(a at x < 1) > 1":               "column 11: a figure is at one place: write x = PLACE",
		strings.Repeat("(", 100):             "column 51: more than 50 nested expressions",
		strings.Repeat("a", 5000):            "the claim has 5000 bytes, more than 4000",
		"hit_ratio(\xff) > 1":                "the claim is not valid UTF-8",
	} {
		c, err := Parse(text)
		if err == nil || err.Error() != want {
			t.Errorf("%q\n got %v %v\nwant %s", text, c, err, want)
		}
	}
}

func TestString(t *testing.T) {
	for text, want := range map[string]string{
		" misses( laru )==misses(opt)where noise=0":            "misses(laru) == misses(opt) where noise = 0",
		"hit_ratio(a) = hit_ratio(b)":                          "hit_ratio(a) == hit_ratio(b)",
		`misses("arc(int=true)") < misses('my "own"')`:         `misses(arc(int=true)) < misses('my "own"')`,
		"1.05 <= hit_ratio(a)/hit_ratio(b) <= 1.12":            "1.05 <= hit_ratio(a) / hit_ratio(b) <= 1.12",
		"hit_ratio(a) - (hit_ratio(b) - 1) > (2*-3)":           "hit_ratio(a) - (hit_ratio(b) - 1) > 2 * -3",
		"(max over g of hit_ratio) * 2 > 1-(2 - hit_ratio(a))": "(max over g of hit_ratio) * 2 > 1 - (2 - hit_ratio(a))",
		"hit_ratio(a) / (max over g, '2 q' of hit_ratio) > 1":  "hit_ratio(a) / max over g, '2 q' of hit_ratio > 1",
		"mean over trace of (misses(a) - misses(b)) < 0 where trace not in a,b and capacity != 1% and x between -1 and 2 " +
			"at 90% of points": "mean over trace of (misses(a) - misses(b)) < 0 at 90% of points where trace not in a, b and " +
			"capacity != 1% and x between -1 and 2",
		"p99(a) is constant in tau-route within .1%":  "",
		"p99(a) is constant in tau-route within 0.1%": "p99(a) is constant in tau-route within 0.1%",
		"misses(a) == misses(b) within 5% of it":      "misses(a) == misses(b) within 5% of it",
	} {
		c, err := Parse(text)
		if want == "" && err == nil || want != "" && (err != nil || c.String() != want) {
			t.Errorf("%s\n got %v, %v\nwant %s", text, c, err, want)
		}
	}
}

// claimText generates claims of every form, with the policies, dimensions and places of recordsOf.
func claimText() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		c := &Claim{says: drawStatement(t), share: 1}
		if rapid.IntRange(0, 3).Draw(t, "share") == 0 {
			c.shareText = "50%"
		}
		for range rapid.IntRange(0, 2).Draw(t, "conditions") {
			c.conditions = append(c.conditions, drawCondition(t))
		}
		return c.String()
	})
}

var policyNames = []string{"a", "b", "2q", "arc(int=true, x=(1))", "my own's"}

func drawStatement(t *rapid.T) statement {
	var within *tolerance
	if rapid.Bool().Draw(t, "tolerance") {
		within = &tolerance{amount: number{"0.25", 0.25}}
	}
	switch rapid.SampledFrom([]string{"comparison", "comparison", "between", "trend", "ranking"}).Draw(t, "statement") {
	case "comparison":
		c := comparison{values: []expr{drawExpr(t, 3)}, within: within}
		for range rapid.IntRange(1, 2).Draw(t, "comparisons") {
			c.ops = append(c.ops, rapid.SampledFrom([]string{"==", "<", "<=", ">", ">="}).Draw(t, "op"))
			c.values = append(c.values, drawExpr(t, 3))
		}
		return c
	case "between":
		return comparison{values: []expr{drawExpr(t, 1), drawExpr(t, 3), drawExpr(t, 1)}, ops: []string{"<=",
			"<="}, between: true, within: within}
	case "trend":
		moves := rapid.SampledFrom([]movement{neverIncreases, neverDecreases, isMonotone, isConstant}).Draw(t, "moves")
		return trend{value: drawExpr(t, 3), moves: moves, along: drawDimension(t), within: within}
	}
	subject := rapid.SampledFrom(policyNames).Draw(t, "subject")
	return ranking{value: figure{"misses", subject}, rank: rapid.SampledFrom(ranks).Draw(t,
		"rank"), among: append(drawPolicies(t), "g"), within: within}
}

func drawPolicies(t *rapid.T) []string {
	return rapid.SliceOfNDistinct(rapid.SampledFrom(policyNames), 1, 3, rapid.ID[string]).Draw(t, "policies")
}

func drawDimension(t *rapid.T) string {
	return rapid.SampledFrom([]string{"trace", "capacity", "seed", "noise", "tau-route", "over all"}).Draw(t, "dimension")
}

func drawCondition(t *rapid.T) records.Condition {
	c := records.Condition{Dimension: rapid.SampledFrom([]string{"capacity", "noise", "where"}).Draw(t, "dimension")}
	c.Op = rapid.SampledFrom([]string{"=", "!=", "<", "<=", ">", ">=", "in", "not in", "between"}).Draw(t, "op")
	n := map[string]int{"in": 3, "not in": 2, "between": 2}[c.Op]
	for range max(n, 1) {
		c.Values = append(c.Values, rapid.SampledFrom([]string{"1%", "-0.5", "250", "a/b.gz", "and", "it's", "1e3"}).Draw(t,
			"place"))
	}
	return c
}

func drawExpr(t *rapid.T, depth int) expr {
	kind := "figure"
	if depth > 0 {
		kind = rapid.SampledFrom([]string{"figure", "figure", "number", "name", "operation", "operation", "negation", "call",
			"over policies", "over"}).Draw(t, "kind")
	}
	switch kind {
	case "number":
		return rapid.SampledFrom([]expr{number{"1", 1}, number{"5%", 0.05}, number{"1.5e-3", 0.0015}}).Draw(t, "number")
	case "name":
		return name(rapid.SampledFrom([]string{"capacity", "hit_ratio", "max", "a b"}).Draw(t, "name"))
	case "operation":
		return operation{rapid.SampledFrom([]byte("+-*/")).Draw(t, "op"), drawExpr(t, depth-1), drawExpr(t, depth-1)}
	case "negation":
		return negation{drawExpr(t, depth-1)}
	case "call":
		return call{"max", []expr{drawExpr(t, depth-1), drawExpr(t, depth-1)}}
	case "over policies":
		return over{"max", drawPolicies(t), drawExpr(t, depth-1)}
	case "over":
		return over{rapid.SampledFrom([]string{"mean", "argmin"}).Draw(t, "take"), []string{drawDimension(t)}, drawExpr(t,
			depth-1)}
	}
	f := figure{rapid.SampledFrom([]string{"misses", "published", "in"}).Draw(t,
		"metric"), rapid.SampledFrom(policyNames).Draw(t, "policy")}
	if rapid.IntRange(0, 4).Draw(t, "fixed") == 0 {
		return fixed{f, []records.Condition{{Dimension: "noise", Op: "=", Values: []string{"0.5"}},
			{Dimension: drawDimension(t), Op: "=", Values: []string{"it's"}}}}
	}
	return f
}

// String formats what Parse reads, with the same meaning: parsed again it gives the same text.
func TestParseReadsWhatStringWrites(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := claimText().Draw(t, "claim")
		c, err := Parse(text)
		if err != nil {
			for _, expected := range []string{"names no policy", "both sides are", "only with itself", "needs \"of it\""} {
				if strings.Contains(err.Error(), expected) {
					t.Skip(err)
				}
			}
			t.Fatalf("%s: %v", text, err)
		}
		if c.String() != text {
			t.Fatalf("%s is read as %s", text, c)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"hit_ratio(rac) / max over baselines of hit_ratio between 1.05 and 1.12", "hit_ratio(lru) never decreases with " +
			"capacity within 0.1%",
		"hit_ratio(arc) is first among lru, 'a b' where capacity in 1%, 64MiB and noise not in 1", "misses(arc(int=true)) " +
			"== published(arc) within 1% of it at 90% of points",
		"-(1 - abs(argmin over x of misses(a))) != 2*max(1,2)",
	} {
		f.Add(text)
	}
	d := NewData(exampleInput(f))
	f.Fuzz(func(t *testing.T, text string) {
		c, err := Parse(text)
		if err != nil {
			return
		}
		again, err := Parse(c.String())
		if err != nil || again.String() != c.String() {
			t.Fatalf("%q is written as %q, which is read as %v, %v", text, c, again, err)
		}
		if r := c.Evaluate(d); r.Verdict == Reproduced && r.Held == 0 {
			t.Fatalf("%s holds nowhere, and yet it holds", c)
		}
	})
}
