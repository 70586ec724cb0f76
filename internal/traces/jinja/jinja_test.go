package jinja

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/cachesim/cachesim/internal/base/testing/interpreter"
	"github.com/cachesim/cachesim/internal/base/testing/must"
)

// pieces are templates, one on a line, of what chat templates may use and the published ones hardly do.
const pieces = `{{ 7 // 2 }} {{ -7 // 2 }} {{ -7 % 3 }} {{ 7.5 % 2 }} {{ 7 / 2 }} {{ 2 ** 10 }} {{ 2 ** -1 }} {{ -2 ** 2 }}
{{ 1 + 2 * 3 - 4 }} {{ 1 ~ 2 * 3 }} {{ not 1 == 2 }} {{ 1 < 2 < 3 }} {{ 1 < 3 < 2 }} {{ 3 is odd and 4 is even }}
{{ true + 1 }} {{ 1 == 1.0 }} {{ 1 == true }} {{ 'a' < 'b' }} {{ [1, 2] < [1, 3] }} {{ (1, 2) == (1, 2) }} {{ [1] == (1,) }}
{{ (1,) }} {{ () }} {{ 1, 'a' }} {{ [1, [2.0, none]] }} {{ {'a': 1, 2: 'b'} }} {{ 'it\'s' }} {{ ["it's", 'a"b\''] }} {{ 1e20 }} {{ 1e-7 }} {{ 0.1 + 0.2 }}
{{ 'x' if false }}|{{ 'x' if false else 'y' if true else 'z' }}|{{ none or 'a' }}|{{ 0 and 1 }}|{{ '' or [] or none }}
{{ 'abc'[1] }}{{ 'abc'[-1] }}{{ 'abc'[5] }}{{ 'äöü'[1:] }}{{ 'abcdef'[::2] }}{{ 'abcdef'[4:1:-1] }}{{ [1, 2, 3][:-1] }}{{ (1, 2, 3)[1:] }}
{{ xs.0 }} {{ xs[0] }} {{ d.a }} {{ d['b'] }} {{ d.missing is defined }} {{ d.get('c', 5) }} {{ d.items() | list }} {{ d.keys() | list }} {{ d.values() | list }}
{% for x in xs %}{{ loop.index }}{{ loop.revindex }}{{ loop.first }}{{ loop.last }}{{ loop.previtem }}{{ loop.nextitem }}{{ loop.cycle('a', 'b') }} {% else %}none{% endfor %}
{% for x in [] %}{{ x }}{% else %}none{% endfor %}{% for x in xs if x > 1 %}{{ loop.length }}{{ x }}{% else %}none{% endfor %}{% for x in xs if x > 9 %}{% else %}none{% endfor %}
{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}{% for (a, b), c in [((1, 2), 3)] %}{{ a + b + c }}{% endfor %}{% for c in 'äb' %}{{ c }},{% endfor %}
{% for t in [{'n': 1, 'c': [{'n': 2, 'c': []}]}] recursive %}{{ t.n }}({{ loop(t.c) }}){% endfor %}
{% for i in range(5) %}{% if i == 1 %}{% continue %}{% endif %}{% if i == 3 %}{% break %}{% endif %}{{ i }}{% endfor %}{{ range(5, 0, -2) | list }}
{% set x = 1 %}{% for i in xs %}{% set x = i %}{% endfor %}{{ x }}{% set a, b = 1, 2 %}{{ a }}{{ b }}{% set y %}<{{ x }}>{% endset %}{{ y }}{% set z | upper %}abc{% endset %}{{ z }}
{% set ns = namespace(n=0) %}{% for i in xs %}{% set ns.n = ns.n + i %}{% endfor %}{{ ns.n }}
{% macro f(a, b=2, c=a) %}{{ a }}{{ b }}{{ c }}{{ varargs }}{% endmacro %}{{ f(1) }} {{ f(1, c=3) }} {{ f(1, 2, 3, 4) }} {{ f.name }}
{% macro f(x) %}[{{ caller(x) }}]{% endmacro %}{% call(y) f(3) %}<{{ y }}>{% endcall %}{% filter upper | replace('A', 'b') %}aa{% endfilter %}
{% macro f(n) %}{{ n }}{% if n %}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(3) }}{% macro g() %}{{ late }}{% endmacro %}{% set late = 5 %}{{ g() }}
{{ xs | sum }} {{ xs | max }} {{ xs | min }} {{ xs | first }} {{ xs | last }} {{ xs | reverse | list }} {{ 'abc' | reverse }} {{ [3, 1, 2] | sort(reverse=true) }} {{ ['b', 'A'] | sort }}
{{ ps | map(attribute='n') | join(',') }} {{ ps | sort(attribute='n') | map(attribute='s') | list }} {{ ps | selectattr('n', 'gt', 1) | list | length }} {{ ps | rejectattr('t') | list | length }} {{ ps | sum(attribute='n') }}
{{ [1, 2, 3, 4] | select('odd') | list }} {{ [0, 1, ''] | select | list }} {{ [1, 2] | reject('==', 1) | list }} {{ ['a', 'A', 'b'] | unique | list }} {{ {'b': 1, 'a': 2} | dictsort }} {{ {'b': 1, 'a': 2} | dictsort(by='value') }}
{{ '42' | int + 1 }} {{ 'x' | int }} {{ 'x' | int(7) }} {{ '2.5' | float }} {{ 3.7 | int }} {{ 2.5 | round }} {{ 3.14159 | round(2) }} {{ 2.1 | round(0, 'ceil') }} {{ -3 | abs }} {{ (-3) | abs }}
{{ ' a b ' | trim }}|{{ 'xxaxx' | trim('x') }}|{{ 'aBc dEf-gH' | title }}|{{ 'aBc' | capitalize }}|{{ 'AbC' | lower }}|{{ 'hello' | length }}|{{ 'a,b' | replace(',', ';') }}
{{ 'a b  c'.split() }} {{ 'a,b,c'.split(',', 1) }} {{ ' a b c'.split(none, 1) }} {{ 'abc'.startswith(('x', 'a')) }} {{ 'abc'.endswith('c') }} {{ 'abcb'.find('b') }} {{ 'abcb'.count('b') }} {{ ','.join(['a', 'b']) }} {{ "they're".title() }}
{{ '{} {1}'.replace('{1}', '{}').format(1, 2) }} {{ '{0}{x}'.format(1, x=2) }} {{ '%s-%s' | format(1, 'a') }} {{ '%s' % 'a' }} {{ '%s%s' % (1, 2) }} {{ '<a>' | e }} {{ 'a' in 'abc' }} {{ 2 in xs }} {{ 'a' not in d }}
{{ undefined1 }}|{{ undefined1 | default('x') }}|{{ '' | default('x', true) }}|{{ none | default('x') }}|{{ undefined1 is undefined }}|{{ none is none }}|{{ undefined1 | length }}|{{ undefined1 | list }}
{{ 1 is number }} {{ true is boolean }} {{ 1 is integer }} {{ 1.0 is float }} {{ 'a' is string }} {{ d is mapping }} {{ xs is sequence }} {{ xs is iterable }} {{ 5 is iterable }} {{ 4 is divisibleby 2 }} {{ 1 is eq 1 }} {{ 1 is not none }} {{ 'a' is in ['a'] }} {{ 'AB' is upper }} {{ none is sameas none }}
{{ [1, 'é', none, true, {'a': [1.5]}] | tojson }} {{ 'a\n"' | tojson }} {{ {'b': 1, 'a': 2} | tojson(sort_keys=true) }} {{ [] | tojson(indent=2) }} {{ 'a' 'b' }} {{ 0x1F }} {{ 1_000 }} {{ "\u00e9\x41\t" }}
{% set j = joiner('|') %}{{ j() }}a{{ j() }}b{{ j() }}{% set c = cycler('x', 'y') %}{{ c.next() }}{{ c.next() }}{{ c.next() }}{{ c.current }}{{ c.reset() or c.next() }}
{{ [1, 2, 3, 4, 5] | batch(2) | list }} {{ xs | batch(2, 'x') | list }} {{ 'xy' | batch(3) | list }} {{ "it's a_b 12, é!" | wordcount }}
{{ dict(a=1) }} {{ dict(d, e=3).e }} {{ f(**{'a': 1}) if f is defined }} {{ d | items | list }} {{ 'a\nb' | indent }} {{ 'a\nb\n\nc' | indent(1, true, true) }}`

// original computes pieces as transformers sets Jinja up.
const original = `
import json, sys, jinja2.ext
from jinja2.sandbox import ImmutableSandboxedEnvironment as E
e = E(trim_blocks=True, lstrip_blocks=True, extensions=[jinja2.ext.loopcontrols])
e.filters["tojson"] = lambda x, ensure_ascii=False, indent=None, separators=None, sort_keys=False: json.dumps(
    x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)
values = json.loads(sys.argv[2])
print(json.dumps([e.from_string(s).render(**values) for s in json.loads(sys.argv[1])]))`

const values = `{"xs": [1, 2, 3], "d": {"a": 1, "b": "x"}, "ps": [{"n": 2, "s": "b", "t": 1}, {"n": 1, "s": "a"}]}`

// TestPiecesAsJinja compares what pieces give with Python's Jinja. Larger templates are tests of chattemplate.
func TestPiecesAsJinja(t *testing.T) {
	python := interpreter.Python(t, "jinja2")
	sources := strings.Split(pieces, "\n")
	written := must.Get(json.Marshal(sources))(t)
	out := must.Get(exec.Command(python, "-c", original, string(written), values).Output())(t)
	var want []string
	must.Do(t, json.Unmarshal(out, &want))
	for i, source := range sources {
		template, err := Parse(source)
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		object := must.Get(Decode([]byte(values)))(t).(*Dict)
		all := map[string]any{}
		for _, key := range object.Keys {
			all[key.(string)] = object.Data[key]
		}
		got, err := template.Render(all, Limits{Text: 1 << 16, Work: 1 << 20}, time.Time{})
		if err != nil || got != want[i] {
			t.Errorf("%s\n%q and error %v, want\n%q", source, got, err, want[i])
		}
	}
}
