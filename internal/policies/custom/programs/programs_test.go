package programs_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/testing/interpreter"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/cache"
	"github.com/cachesim/cachesim/internal/policies"
	_ "github.com/cachesim/cachesim/internal/policies/all"
	"github.com/cachesim/cachesim/internal/policies/policytest"
)

// TestMain is also the program that tests run: its arguments are the word program and what it does.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "program" {
		program(os.Args[2], os.Args[3:])
		return
	}
	os.Exit(m.Run())
}

// program is LRU, unless it is asked for something else. It keeps a list, the oldest first.
func program(does string, args []string) {
	in, out := bufio.NewReaderSize(os.Stdin, 1<<16), bufio.NewWriter(os.Stdout)
	must := func(err error) {
		if err != nil {
			os.Exit(0)
		}
	}
	for _, path := range args {
		must(os.WriteFile(path, []byte(strconv.Itoa(os.Getpid())), 0o644))
	}
	if does == "transcript" {
		log, err := os.Create(args[0])
		must(err)
		in.Reset(io.TeeReader(os.Stdin, marks{log, "> "}))
		out.Reset(io.MultiWriter(os.Stdout, marks{log, "< "}))
	}
	line, err := in.ReadString('\n')
	must(err)
	if !strings.HasPrefix(line, "cachesim 1 capacity=") {
		fmt.Fprintln(os.Stderr, "unknown greeting", line)
		os.Exit(9)
	}
	format := "binary"
	switch does {
	case "text", "transcript", "garbage", "nothing", "unasked", "endless":
		format = "text"
	case "speechless":
		time.Sleep(time.Hour)
	case "rude":
		fmt.Println("hello")
	case "future":
		fmt.Println("policy 2")
	case "mute":
		os.Stdout.Close()
		time.Sleep(time.Hour)
	}
	wants := "hits"
	if does == "counts" {
		wants = "hits,misses"
	} else if strings.HasPrefix(does, "admit") {
		wants = "hits,misses,admit"
	}
	fmt.Fprintf(out, "policy 1 name=\"test program\" source='this test' format=%s wants=%s\n", format, wants)
	if does == "unasked" {
		fmt.Fprintln(out, "1\n2\n3")
	}
	must(out.Flush())
	if does == "deaf" {
		time.Sleep(time.Hour)
	}
	var list []uint32
	seen := map[uint32]int{}
	without := func(o uint32) {
		for i, x := range list {
			if x == o {
				list = append(list[:i], list[i+1:]...)
				return
			}
		}
	}
	answer := func(o uint32) {
		switch {
		case format == "binary":
			must(binary.Write(out, binary.LittleEndian, o))
		case o == 0xffffffff:
			fmt.Fprintln(out, "none")
		default:
			fmt.Fprintln(out, o)
		}
		must(out.Flush())
	}
	counts := map[string]int{}
	for questions := 0; ; {
		kind, object, err := event(in, format == "text")
		if err != nil {
			switch does {
			case "counts":
				must(os.WriteFile(args[0], fmt.Append(nil, counts["hit"], counts["miss"]), 0o644))
			case "fails":
				fmt.Fprintln(os.Stderr, "at the end")
				os.Exit(4)
			case "stays":
				time.Sleep(time.Hour)
			}
		}
		must(err)
		counts[kind]++
		switch kind {
		case "hit":
			without(object)
			list = append(list, object)
		case "insert":
			list = append(list, object)
		case "miss":
			seen[object]++
		case "remove":
			without(object)
		case "admit":
			answer(uint32(min(seen[object]-1, 1)))
		case "victim":
			if questions++; questions > 100 {
				switch does {
				case "dies":
					fmt.Fprintln(os.Stderr, "first\nlast words")
					os.Exit(3)
				case "hangs":
					time.Sleep(time.Hour)
				case "killed":
					must(endMyself())
				case "stranger":
					answer(399)
					continue
				case "nothing":
					answer(0xffffffff)
					continue
				case "garbage":
					fmt.Println("the oldest")
					continue
				case "endless":
					fmt.Print(strings.Repeat("x", 10000))
					continue
				}
			}
			o := list[0]
			without(o)
			answer(o)
		}
	}
}

// marks puts a mark in front of each line.
type marks struct {
	to   io.Writer
	mark string
}

func (m marks) Write(lines []byte) (int, error) {
	for line := range strings.Lines(string(lines)) {
		if _, err := io.WriteString(m.to, m.mark+line); err != nil {
			return 0, err
		}
	}
	return len(lines), nil
}

func endMyself() error {
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Kill()
	}
	time.Sleep(time.Minute)
	return err
}

// event reads an event.
func event(in *bufio.Reader, text bool) (kind string, object uint32, err error) {
	if text {
		line, err := in.ReadString('\n')
		if err != nil {
			return "", 0, err
		}
		words := strings.Fields(line)
		n, _ := strconv.ParseUint(words[1], 10, 32) // or -
		return words[0], uint32(n), nil
	}
	var data [32]byte
	if _, err := io.ReadFull(in, data[:]); err != nil {
		return "", 0, err
	}
	kinds := []string{"", "hit", "miss", "insert", "remove", "resized", "resize", "grow", "victim", "admit"}
	return kinds[data[0]], binary.LittleEndian.Uint32(data[4:]), nil
}

// replay replays a random trace, with drops and resizes.
func replay(ctx context.Context, text string, bytes bool) (cache.Counts, error) {
	tr := policytest.Trace(3, 8000, 400)
	capacity := int64(90)
	if bytes {
		capacity = 900
	}
	return policies.Await(ctx, func(ctx context.Context) (n cache.Counts, err error) {
		spec, err := policies.Registry.Parse(text)
		if err != nil {
			return n, err
		}
		p, err := spec.Entry.New(policies.Config{Capacity: capacity, Unit: !bytes, Objects: tr.NumObjects,
			Requests: len(tr.Objects), Params: spec.Params, Life: policies.LifeOf(ctx)})
		if err != nil {
			return n, err
		}
		c := cache.NewExact(p, capacity, tr.NumObjects)
		rng := rand.New(rand.NewPCG(1, 2))
		sizes := make([]int64, 1)
		for i := range tr.Objects {
			c.Serve(cache.WindowOf(tr, i, i+1, bytes, sizes), &n)
			switch rng.IntN(50) {
			case 0:
				c.Drop(tr.Objects[rng.IntN(i+1)])
			case 1:
				c.Resize(1 + rng.Int64N(2*capacity))
			}
		}
		return n, nil
	})
}

// as returns the policy of the test's program, or of another command, with further parameters.
func as(does string, further ...string) string {
	return command([]string{os.Args[0], "program", does}, further...)
}

func command(words []string, further ...string) string {
	for i, word := range words {
		words[i] = "'" + word + "'"
	}
	return fmt.Sprintf(`exec(command="%s"%s)`, strings.Join(words, " "), strings.Join(further, ""))
}

func TestProgramIsTheSame(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ program, policy string }{
		{as("binary"), "lru"},
		{as("text"), "lru"},
		{as("binary", ",admits=true"), "lru"},
		{as("admits", ",admits=true"), `rank(admit="total > 1")`},
	} {
		for _, bytes := range []bool{false, true} {
			if bytes && strings.Contains(c.program, "admits'") {
				continue // rank counts requests for what is larger than the cache, too
			}
			want := must.Get(replay(t.Context(), c.policy, bytes))(t)
			if got := must.Get(replay(t.Context(), c.program, bytes))(t); got != want {
				t.Errorf("%s, bytes=%v: %+v, %s has %+v", c.program, bytes, got, c.policy, want)
			}
		}
	}
}

// Each way to fail is one sentence.
func TestProgramsFail(t *testing.T) {
	t.Parallel()
	for want, policy := range map[string]string{
		`the program "./nowhere" cannot be started: `:                             command([]string{"./nowhere"}),
		`the program "no-such-program" cannot be started: executable file`:        command([]string{"no-such-program"}),
		`(exit status 3), its last message: "last words"`:                         as("dies"),
		"the program ended at request ":                                           as("killed"),
		"the program did not answer within 5 s at request ":                       as("hangs", ",timeout=5"),
		"within 6 s at request ":                                                  as("deaf", ",timeout=6"),
		"the program did not answer within 0.2 s at the greeting; give it":        as("speechless", ",timeout=0.2"),
		"the program did not end within 4 s of the end of its input; give":        as("stays", ",timeout=4"),
		`at the end of its input (exit status 4), its last message: "at the end"`: as("fails"),
		"the program closed its input or output at the greeting":                  as("mute"),
		`the program greets with "hello", which does not begin with`:              as("rude"),
		`greets with "policy 2", which is version "2" of the protocol`:            as("future"),
		`the program answers "the oldest" at request `:                            as("garbage"),
		`without an end of the line at request `:                                  as("endless"),
		"it evicts object 399, which is not resident, at request ":                as("stranger"),
		"it evicts nothing where a victim is due, at request ":                    as("nothing"),
		"the program wrote what it was not asked for at the greeting; all":        as("unasked"),
		"wants to be asked what to load; add admits=true":                         as("admits"),
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			_, err := replay(t.Context(), policy, false)
			if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: %v; want %q", policy, err, want)
			}
		})
	}
}

func TestCommandsAreRefused(t *testing.T) {
	t.Parallel()
	for want, policy := range map[string]string{
		"no program is named; write exec(command=": "exec",
		"a quote ' is not closed":                  `exec(command="python3 'my.py")`,
	} {
		if _, err := policies.Registry.Parse(policy); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", policy, err, want)
		}
	}
}

// Several replays at once have programs of their own, and none of them outlives its replay, however that ends.
func TestProgramsEnd(t *testing.T) {
	t.Parallel()
	pids := t.TempDir()
	var replays sync.WaitGroup
	for i, does := range []string{"binary", "text", "binary", "hangs", "stranger", "speechless"} {
		replays.Go(func() {
			words := []string{os.Args[0], "program", does, filepath.Join(pids, strconv.Itoa(i))}
			ctx, stuck := t.Context(), does == "hangs" || does == "speechless"
			if stuck {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, 5*time.Second)
				defer cancel()
			}
			_, err := replay(ctx, command(words), false)
			if does != "stranger" && (err != nil) != stuck || stuck && !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: %v", does, err)
			}
		})
	}
	replays.Wait()
	for i := range 6 {
		pid := must.Get(strconv.Atoi(string(must.Get(os.ReadFile(filepath.Join(pids, strconv.Itoa(i))))(t))))(t)
		if runs(pid) {
			t.Errorf("the program of replay %d still runs", i)
		}
	}
}

// A program sees what happens after the last question, too.
func TestProgramsSeeEverything(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "counts")
	n := must.Get(replay(t.Context(), command([]string{os.Args[0], "program", "counts", path}), false))(t)
	got, want := string(must.Get(os.ReadFile(path))(t)), fmt.Sprint(n.Hits, n.Requests-n.Hits)
	if got != want {
		t.Errorf("the program saw %s hits and misses, want %s", got, want)
	}
}

// A cache with a policy in each of many sets starts no program for each.
func TestManyPrograms(t *testing.T) {
	t.Parallel()
	spec := must.Get(policies.Registry.Parse(as("binary")))(t)
	_, err := policies.Await(t.Context(), func(ctx context.Context) (made int, err error) {
		for ; err == nil; made++ {
			_, err = spec.Entry.New(policies.Config{Capacity: 1, Unit: true, Objects: 1, Params: spec.Params,
				Life: policies.LifeOf(ctx)})
		}
		if made != 65 {
			t.Errorf("%d policies were made, want 64", made-1)
		}
		return made, err
	})
	if err == nil || !strings.Contains(err.Error(), "more than 64 policies") {
		t.Error(err)
	}
}

// The page about the protocol has a transcript of this test.
func TestTranscript(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "log")
	spec := must.Get(policies.Registry.Parse(command([]string{os.Args[0], "program", "transcript", log})))(t)
	must.Get(policies.Await(t.Context(), func(ctx context.Context) (n cache.Counts, err error) {
		objects, times := []policies.Object{0, 1, 0, 2, 2}, []int64{1e9, 2e9, 3e9, 4e9, 5e9}
		p, err := spec.Entry.New(policies.Config{Capacity: 2, Unit: true, Objects: 3, Requests: len(objects),
			Params: spec.Params, Life: policies.LifeOf(ctx)})
		if err == nil {
			cache.NewExact(p, 2, 3).Serve(cache.Window{Objects: objects, Times: times}, &n)
		}
		return n, err
	}))(t)
	page := string(must.Get(os.ReadFile("../../../../docs/policies-own.md"))(t))
	_, page, _ = strings.Cut(page, "<!-- transcript -->\n\n")
	page, _, _ = strings.Cut(page, "\n\n")
	got := string(must.Get(os.ReadFile(log))(t))
	if want := strings.ReplaceAll(page, "    ", "") + "\n"; got != want {
		t.Errorf("the transcript is\n%s\nthe page has\n%s", got, want)
	}
}

func TestFilesOfCommands(t *testing.T) {
	t.Chdir(t.TempDir())
	must.Do(t, os.WriteFile("my policy.py", nil, 0o644))
	spec := must.Get(policies.Registry.Parse(`exec(command="python3 'my policy.py' other.py --k=3")`))(t)
	if got := spec.Files(); len(got) != 1 || got[0] != "my policy.py" {
		t.Errorf("files %q, want my policy.py", got)
	}
	moved := spec.WithFiles(func(path string) string { return "there/" + path })
	if got := moved.Params.Text("command"); got != "python3 'there/my policy.py' other.py --k=3" {
		t.Errorf("moved: %s", got)
	}
	if words, err := params.Words(` a "b 'c'"d '' `); err != nil || len(words) != 3 || words[1] != "b 'c'd" {
		t.Errorf("words %q, %v", words, err)
	}
}

// The examples in other languages are equal to policies of the program.
func TestExamples(t *testing.T) {
	t.Parallel()
	for script, policy := range map[string]string{"lru.py": "lru", "arc.py": "arc", "lru.mjs": "lru"} {
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			var with string
			if strings.HasSuffix(script, ".py") {
				with = interpreter.Python(t, "struct,shlex")
			} else {
				with = interpreter.Node(t)
			}
			for _, bytes := range []bool{false, true} {
				want := must.Get(replay(t.Context(), policy, bytes))(t)
				got := must.Get(replay(t.Context(), command([]string{with, "../../../../examples/exec/" + script},
					",timeout=300"), bytes))(t)
				if got != want {
					t.Errorf("bytes=%v: %+v, %s has %+v", bytes, got, policy, want)
				}
			}
		})
	}
}
