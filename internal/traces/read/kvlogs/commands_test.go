package kvlogs_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces/stream"
	"github.com/cachesim/cachesim/internal/traces/tracetest"
)

// redisCommand is a line of testdata/redis-commands.tsv.
type redisCommand struct {
	name, kind, keys string
	arity            int
}

func redisCommands(t testing.TB) (all []redisCommand) {
	t.Helper()
	for line := range strings.Lines(string(must.Get(os.ReadFile("testdata/redis-commands.tsv"))(t))) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		cells := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		arity, _ := strconv.Atoi(cells[1]) // the tables of modules state none
		all = append(all, redisCommand{cells[0], cells[2], cells[3], arity})
	}
	return all
}

// example returns a call with the shortest arguments, and its keys.
func (c redisCommand) example() (words, keys []string) {
	words = strings.Fields(c.name)
	switch c.name {
	case "xread", "xreadgroup":
		return []string{c.name, "group", "g", "c", "streams", "k0", "1"}, []string{"k0"}
	case "json.debug":
		return []string{c.name, "memory", "k0"}, []string{"k0"}
	}
	for len(words) < max(c.arity, -c.arity, 7) {
		words = append(words, "1")
	}
	place := func(at int) {
		keys = append(keys, fmt.Sprint("k", len(keys)))
		words[at] = keys[len(keys)-1]
	}
	for spec := range strings.FieldsSeq(c.keys) {
		first, rest, counted := strings.Cut(spec, "#")
		if counted {
			at, _ := strconv.Atoi(first)
			offset, _ := strconv.Atoi(rest[:1])
			place(at + offset)
			continue
		}
		numbers := strings.Split(spec, ":")
		at, err := strconv.Atoi(numbers[0])
		if err != nil || len(numbers) < 3 {
			continue // behind a keyword that may be absent
		}
		last, _ := strconv.Atoi(numbers[1])
		step, _ := strconv.Atoi(numbers[2])
		if last < 0 {
			last += len(words) - at
		}
		for i := at; i <= at+last; i += step {
			place(i)
		}
	}
	return words, keys
}

// TestCommandTable: each command of Redis uses the keys that its table says, reads or changes them as it says, or is
// one of those that are left out by name.
func TestCommandTable(t *testing.T) {
	// Reads that are no use of a value, and writes that change none unless an option says so.
	asks := strings.Fields("ttl pttl expiretime pexpiretime type object memory xinfo watch debug pfdebug bf.debug " +
		"cf.debug json.debug")
	noKeys := strings.Fields("eval eval_ro evalsha evalsha_ro fcall fcall_ro spublish ssubscribe sunsubscribe")
	mayRead := strings.Fields("getex hgetex sort bitfield georadius georadiusbymember xreadgroup")
	mayChange := strings.Fields("touch cf.compact ft.get ft.del ft.add ft.safeadd")
	for _, c := range redisCommands(t) {
		name, _, sub := strings.Cut(c.name, " ")
		words, keys := c.example()
		line := `7 [0 x]`
		for _, w := range words {
			line += " " + strconv.Quote(w)
		}
		records, err := tracetest.ReadText(t, "7 [0 x] \"get\" \"first\"\n"+line+"\n", "redis")
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		records = records[1:]
		left := slices.Contains(asks, name) || slices.Contains(noKeys, name)
		got, writes := map[string]bool{}, false
		for _, rec := range records {
			if rec.Text != nil { // not an argument that stands for a key
				got[string(rec.Text)] = true
			}
			writes = writes || rec.Op.Kind() != stream.OpRead
		}
		want := map[string]bool{}
		for _, key := range keys {
			want[key] = !left
		}
		maps.DeleteFunc(want, func(_ string, used bool) bool { return !used })
		switch c.name {
		case "flushall":
			want["*"] = true
		case "flushdb":
			want["0/*"] = true
		case "move": // to another database
			want["1/k0"] = true
		}
		if !sub || !left {
			if !maps.Equal(got, want) {
				t.Errorf("%s: keys %v, want %v", line, got, want)
			}
		}
		switch {
		case len(want) == 0, slices.Contains(mayChange, name):
		case c.kind == "read" && writes:
			t.Errorf("%s changes its keys, but is a command that reads", c.name)
		case c.kind == "write" && !writes && !slices.Contains(mayRead, name):
			t.Errorf("%s changes nothing, but is a command that writes", c.name)
		}
	}
}

// TestCommandsLeftOutByName: what is left out is known, and what is not known is said.
func TestCommandsLeftOutByName(t *testing.T) {
	leftOut := func(commands ...string) string {
		text := "7 [0 x] \"get\" \"first\"\n"
		for _, c := range commands {
			text += "7 [0 x] " + c + "\n"
		}
		return tracetest.MustLoadText(t, text, optionsOf("redis")).Readings[0].LeftOutText()
	}
	for _, c := range redisCommands(t) {
		words, _ := c.example()
		if text := leftOut(`"`+strings.Join(words, `" "`)+`"`, `"ping"`); strings.Contains(text, "unknown") {
			t.Errorf("%s: %s", c.name, text)
		}
	}
	text := leftOut(`"swapdb" "0" "1"`, `"myset" "a" "1"`, `"myset" "a" "2"`)
	const want = `3 rows left out (commands that use no key, and "swapdb", which is not followed, and "myset", which is ` +
		`unknown)`
	if text != want {
		t.Errorf("got %s, want %s", text, want)
	}
}
