package modules_test

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	test "github.com/cachesim/cachesim/internal/base/sandbox/sandboxtest"
	"github.com/cachesim/cachesim/internal/base/testing/interpreter"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/policies"
	_ "github.com/cachesim/cachesim/internal/policies/all"
	"github.com/cachesim/cachesim/internal/policies/policytest"
	"github.com/cachesim/cachesim/internal/policies/suite"
	"github.com/cachesim/cachesim/internal/traces"
)

// examples has the modules that come with the program.
const examples = "../../../../examples/wasm/"

// of names a module and its parameters.
func of(path string, more ...string) string {
	return "wasm(file=" + strings.Join(append([]string{path}, more...), ",") + ")"
}

// changing replays a trace in a cache whose capacity changes, that drops objects, and loads some ahead.
func changing(c *cache.Exact, tr *traces.Trace, capacity int64, bytes bool) (n cache.Counts) {
	rng := rand.New(rand.NewPCG(1, 2))
	sizes := make([]int64, 1)
	for i := range tr.Objects {
		c.Serve(cache.WindowOf(tr, i, i+1, bytes, sizes), &n)
		o := tr.Objects[rng.IntN(i+1)]
		switch rng.IntN(40) {
		case 0:
			c.Drop(o)
		case 1:
			c.Resize(1 + rng.Int64N(2*capacity))
		case 2:
			r := policies.Request{Object: o, Query: o, Pos: i, Size: 1, Reason: policies.Prefetch}
			if bytes {
				r.Size = tr.ObjectSizes[o]
			}
			if !c.Has(o) {
				c.Miss(r)
			}
		}
	}
	return n
}

// replay returns the counts of a policy: in whole runs of requests (batch), one by one, or in a cache that changes.
func replay(t *testing.T, spec string, tr *traces.Trace, capacity int64, bytes bool, how string) (cache.Counts, error) {
	t.Helper()
	parsed := must.Get(policies.Registry.Parse(spec))(t)
	return policies.Await(t.Context(), func(ctx context.Context) (n cache.Counts, err error) {
		config := policytest.ConfigOf(t, parsed.Entry, tr, capacity, !bytes)
		config.Params, config.Life = parsed.Params, policies.LifeOf(ctx)
		p, err := parsed.Entry.New(config)
		if err != nil {
			return n, err
		}
		if how == "batch" {
			c := cache.NewBatchExact(p.(policies.UnitReplayer))
			for from := 0; from < len(tr.Objects); from += 1000 {
				c.Serve(cache.WindowOf(tr, from, min(from+1000, len(tr.Objects)), false, nil), &n)
			}
			return n, nil
		}
		c := cache.NewExact(p, capacity, tr.NumObjects)
		if how == "changing" {
			return changing(c, tr, capacity, bytes), nil
		}
		c.Serve(cache.WindowOf(tr, 0, len(tr.Objects), bytes, make([]int64, len(tr.Objects))), &n)
		return n, nil
	})
}

// The examples are equal to the program's own policies, to the request.
func TestExamplesEqualPolicies(t *testing.T) {
	for policy, module := range map[string]string{
		"lru": of(examples + "lru.wasm"), "sieve": of(examples + "sieve.wasm"),
		"s3fifo(rule=2024)": of(examples + "s3fifo.wasm"),
		"s3fifo(small=0.25,ghost=0.5,move=1,bits=3,rule=2024)": of(examples+"s3fifo.wasm", "small=0.25", "ghost=0.5",
			"move=1", "bits=3"),
	} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(5) {
				tr := policytest.Trace(seed, 4000, 400)
				for _, capacity := range []int64{1, 7, 60, 300, 2000} {
					for _, how := range []string{"batch", "one by one", "bytes", "changing", "changing bytes"} {
						bytes := strings.HasSuffix(how, "bytes")
						how := strings.TrimSuffix(how, " bytes")
						got := must.Get(replay(t, module, tr, capacity, bytes, how))(t)
						want := must.Get(replay(t, policy, tr, capacity, bytes, how))(t)
						if got != want {
							t.Errorf("seed %d, capacity %d, %s: %+v, want %+v", seed, capacity, how, got, want)
						}
					}
				}
			}
		})
	}
}

// write writes a module and returns its path.
func write(t *testing.T, code []byte) string {
	path := filepath.Join(t.TempDir(), "my.wasm")
	must.Do(t, os.WriteFile(path, code, 0o666))
	return path
}

// Instructions for Code.
var (
	forever = []byte{0x03, 0x40, 0x0c, 0, 0x0b}                         // loop br 0 end
	growing = []byte{0x03, 0x40, 0x41, 1, 0x40, 0, 0x1a, 0x0c, 0, 0x0b} // loop (memory.grow 1) drop br 0 end
	trap    = []byte{0}
	divide  = []byte{0x41, 1, 0x41, 0, 0x6d, 0x1a} // drop(1 / 0)
	outside = []byte{0x41, 0x7f, 0x2d, 0, 0, 0x1a} // drop(the byte at -1)
)

func hitBy(code []byte) []test.Function {
	return test.Policy(test.Function{Name: "hit", Parameters: []byte{test.I32, test.I64}, Code: code})
}

func victimBy(code ...byte) []test.Function {
	return test.Policy(test.Function{Name: "victim", Parameters: []byte{test.I32, test.I64}, Results: []byte{test.I32},
		Code: code})
}

// What is wrong with a module before it is replayed is one error that names the file.
func TestRefusesModules(t *testing.T) {
	lru := must.Get(os.ReadFile(examples + "lru.wasm"))(t)
	for want, code := range map[string][]byte{
		"it is no WebAssembly module: those begin with":                          []byte("int main() {}"),
		"it is no module of version 1":                                           []byte("\x00asm\x0d\x00\x01\x00"),
		"the file ends too early, as if it were cut off; build or copy it again": lru[:len(lru)/2],
		"it does not export hit(i32, i64), victim(i32, i64) -> i32": test.Module{Functions: []test.Function{
			{Name: "miss", Parameters: []byte{test.I32, test.I64}},
			{Name: "insert", Parameters: []byte{test.I32, test.I64}},
			{Name: "remove", Parameters: []byte{test.I32}}}}.Bytes(),
		"it exports hit(i32), want hit(i32, i64)": test.Module{Functions: test.Policy(
			test.Function{Name: "hit", Parameters: []byte{test.I32}})}.Bytes(),
		"it imports log of env; want no imports": test.Module{Functions: test.Policy(), Import: "log"}.Bytes(),
		"start takes more than 10,000,000 steps": test.Module{Functions: append(test.Policy(),
			test.Function{Name: "begin", Code: forever}), Start: 6}.Bytes(),
		"_initialize takes more than 10,000,000 steps": test.Module{Functions: append(test.Policy(),
			test.Function{Name: "_initialize", Code: forever})}.Bytes(),
		"it is not valid WebAssembly": test.Module{Functions: hitBy([]byte{0x6a})}.Bytes(),
		"name returns 65536, where no text is": test.Module{Functions: append(test.Policy(), test.Function{Name: "name",
			Results: []byte{test.I32}, Code: []byte{0x41, 0x80, 0x80, 4}}), Pages: 1}.Bytes(),
	} {
		path := write(t, code)
		_, err := policies.Registry.Parse(of(path))
		must.Fail(t, err, path+": "+want)
		if strings.Contains(err.Error(), "\n") {
			t.Errorf("%q has several lines", err)
		}
	}
	for spec, want := range map[string]string{
		"wasm":                                               "file is missing",
		of(examples + "none.wasm"):                           "no such file",
		of(examples+"lru.wasm", "x=1"):                       `unknown parameter "x": it has none of its own`,
		of(examples+"s3fifo.wasm", "smal=0.2"):               `unknown parameter "smal"`,
		of(examples+"s3fifo.wasm", "small=2"):                "small=2: it refuses this value",
		of(examples+"s3fifo.wasm", "small=a"):                "small=a: want a number",
		of(examples+"s3fifo.wasm", "small=0.1", "small=0.2"): "small is given twice",
	} {
		_, err := policies.Registry.Parse(spec)
		must.Fail(t, err, want, spec)
	}
}

// A module of which the end is missing is refused, unless that is all its data (section 11) or notes (section 0).
func TestCutModules(t *testing.T) {
	code := must.Get(os.ReadFile(examples + "lru.wasm"))(t)
	for n := range code {
		if _, err := policies.Registry.Parse(of(write(t, code[:n]))); err == nil && code[n] != 0 && code[n] != 11 {
			t.Errorf("%d bytes of %d are accepted", n, len(code))
		}
	}
}

// What a module does while it is replayed ends the replay with one sentence, in batches and one by one.
func TestModulesThatFail(t *testing.T) {
	calls := []byte{0x20, 0, 0x20, 1, 0x10, 0} // itself
	for want, functions := range map[string][]test.Function{
		"hit takes more than 10,000,000 steps (rounds of loops, and calls); of object": hitBy(forever),
		"hit needs more than 1 GiB of memory":                                          hitBy(growing),
		"hit nests more than 1,000 calls":                                              hitBy(calls),
		"hit stops with an error of its own: unreachable":                              hitBy(trap),
		"hit stops with an error of its own: integer divide by zero":                   hitBy(divide),
		"hit stops with an error of its own: out of bounds memory access":              hitBy(outside),
		"it evicts object 4000, which is not resident":                                 victimBy(0x41, 0xa0, 0x1f),
		"it evicts object 399, which is not resident":                                  victimBy(0x41, 0x8f, 0x03),
		"it evicts nothing where a victim is due":                                      victimBy(0x41, 0x7f),
		"which is not resident but needs the room":                                     victimBy(0x20, 0),
	} {
		spec := of(write(t, test.Module{Functions: functions}.Bytes()))
		tr := policytest.Trace(3, 3000, 400)
		for _, how := range []string{"batch", "one by one"} {
			_, err := replay(t, spec, tr, 20, false, how)
			must.Fail(t, err, "policy wasm(file=", spec, how)
			must.Fail(t, err, want, spec, how)
			must.Fail(t, err, "at request ", spec, how)
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("%q has several lines", err)
			}
		}
	}
}

// Where a module stops depends on nothing but what it is asked: twice the same error, also from other goroutines.
func TestStopsAtTheSameRequest(t *testing.T) {
	// The 32-bit number at 0 counts the hits, and so many rounds of a loop each hit takes.
	slower := []byte{0x41, 0, 0x41, 0, 0x28, 2, 0, 0x41, 1, 0x6a, 0x36, 2, 0, // mem[0]++
		0x41, 0, 0x28, 2, 0, 0x21, 0, // i = mem[0]
		0x03, 0x40, 0x20, 0, 0x41, 1, 0x6b, 0x22, 0, 0x0d, 0, 0x0b} // do i-- while i
	spec := of(write(t, test.Module{Functions: hitBy(slower), Pages: 1}.Bytes()), "steps=100")
	tr := policytest.Trace(3, 3000, 400)
	var first string
	for _, how := range []string{"batch", "one by one", "batch"} {
		_, err := replay(t, spec, tr, 500, false, how)
		must.Fail(t, err, "hit takes more than 100 steps")
		if first == "" {
			first = err.Error()
		}
		if err.Error() != first {
			t.Errorf("%s: %q, before %q", how, err, first)
		}
	}
}

// What a module has of its own: a clock, random choices, a say in what is loaded.
func TestOptionalFunctions(t *testing.T) {
	path := write(t, test.Module{Functions: append(test.Policy(),
		test.Function{Name: "clock", Parameters: []byte{test.I64}},
		test.Function{Name: "seed", Parameters: []byte{test.I64}},
		test.Function{Name: "admit", Parameters: []byte{test.I32, test.I64}, Results: []byte{test.I32},
			Code: []byte{0x41, 0}})}.Bytes())
	spec := must.Get(policies.Registry.Parse(of(path)))(t)
	if !policies.NeedsClock(spec) || !spec.Entry.Random || !spec.Entry.Bypass {
		t.Errorf("%+v needs no clock, is not random, or loads everything", spec.Entry)
	}
	if n := must.Get(replay(t, of(path), policytest.Trace(3, 100, 40), 20, false, "one by one"))(t); n.Hits != 0 {
		t.Errorf("%d hits of a policy that loads nothing", n.Hits)
	}
	described := must.Get(policies.Registry.Parse(of(examples + "s3fifo.wasm")))(t)
	if described.Entry.Summary != "s3fifo, a WebAssembly module" ||
		!strings.Contains(described.Entry.Source, "SOSP 2023") {
		t.Errorf("the module is %q by %q", described.Entry.Summary, described.Entry.Source)
	}
	plain := must.Get(policies.Registry.Parse(of(examples + "lru.wasm")))(t)
	if policies.NeedsClock(plain) || plain.Entry.Random || plain.Entry.Bypass {
		t.Errorf("%+v needs a clock, is random, or bypasses", plain.Entry)
	}
}

// The examples keep the contract of all policies.
func TestExamplesPassTheSuite(t *testing.T) {
	for _, name := range []string{"lru", "s3fifo", "sieve"} {
		spec := must.Get(policies.Registry.Parse(of(examples + name + ".wasm")))(t)
		subject := must.Get(suite.SubjectOf(spec))(t)
		done := 0
		must.Do(t, suite.Judge(t.Context(), subject, suite.Options{Cases: 4, Attempts: 100, Done: func(v suite.Verdict) {
			if done++; v.Err != nil {
				t.Errorf("%s: %s: %v\n%s", name, v.Check, v.Err, v.Script)
			}
		}}))
		if done != len(suite.Checks) {
			t.Errorf("%s: %d checks, want %d", name, done, len(suite.Checks))
		}
	}
}

// What clang makes of the sources is what the modules do. It needs clang and lld.
func TestExamplesAreTheirSources(t *testing.T) {
	if !interpreter.HasClang() {
		t.Skip("needs clang and lld")
	}
	for _, name := range []string{"lru", "s3fifo"} {
		path := interpreter.CompileC(t, examples+name+".c")
		tr := policytest.Trace(1, 4000, 400)
		got := must.Get(replay(t, of(path), tr, 60, true, "changing"))(t)
		if want := must.Get(replay(t, name, tr, 60, true, "changing"))(t); got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}
