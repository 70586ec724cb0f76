# Prints random conversations, chat templates, and what Jinja makes of both with the settings of transformers. Templates
# are those below and those in the folder CACHESIM_TEMPLATES.
import datetime, glob, json, os, random, re, sys
import jinja2, jinja2.ext
from jinja2.sandbox import ImmutableSandboxedEnvironment

random.seed(31)
environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[jinja2.ext.loopcontrols])


class Generation(jinja2.ext.Extension):
    tags = {"generation"}

    def parse(self, parser):
        next(parser.stream)
        return parser.parse_statements(["name:endgeneration"], drop_needle=True)


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


environment.add_extension(Generation)
environment.filters["tojson"] = tojson
environment.globals["raise_exception"] = raise_exception
environment.globals["strftime_now"] = lambda f: datetime.datetime(2024, 7, 26).strftime(f)

texts = ["Hi!", " U ", "", "\n", "naïve 日本語 🙂", "a 'b' \"c\" \\ <x>&", "line\nline\n\n", "<think>\nhm\n</think>\n\nyes", "{{ x }}",
    "  spaced  \n", "x" * 300, "\u00a0nbsp\u3000"]  # fmt: skip
weather = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Weather of a 'place' <b> é",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string", "description": "The city"},
                "days": {"type": "integer", "enum": [1, 2.5]},
            },
            "required": ["city"],
        },
    },
}
now = {
    "type": "function",
    "function": {"name": "now", "description": "", "parameters": {"type": "object", "properties": {}}},
}


def conversation():
    messages, tools = [], random.random() < 0.35
    if random.random() < 0.5:
        messages.append({"role": "system", "content": random.choice(texts)})
    for turn in range(random.randint(1, 4)):
        parts = [{"type": "text", "text": random.choice(texts)}, {"type": "text", "text": "b"}]
        messages.append({"role": "user", "content": random.choice(texts) if random.random() < 0.9 else parts})
        if tools and random.random() < 0.6:
            arguments = {
                "city": random.choice(["Paris", 'São "P"', ""]),
                "n": random.choice([1, 2.5, True, None, [1, "a"], {"b": 1, "a": 2}]),
            }
            call = {"name": "get_weather", "arguments": arguments if random.random() < 0.7 else json.dumps(arguments)}
            name = "abcdef12" + str(turn)
            messages.append(
                {
                    "role": "assistant",
                    "content": random.choice([None, "", "let me"]),
                    "tool_calls": [{"id": name, "type": "function", "function": call}],
                }
            )
            messages.append({"role": "tool", "tool_call_id": name, "content": random.choice(['{"t": 3}', "sunny", ""])})
        if turn < 3 and random.random() < 0.85:
            messages.append({"role": "assistant", "content": random.choice(texts)})
            if random.random() < 0.2:
                messages[-1]["reasoning_content"] = random.choice(texts)
    if messages[-1]["role"] == "assistant":
        messages.append({"role": "user", "content": random.choice(texts)})
    return {"messages": messages, "tools": random.choice([[weather], [weather, now]]) if tools else None}


def overparts(source):
    content = r"""(?:\w+(?:\[[^\]]*\])?(?:\.content|\[['"]content['"]\]|\.get\(['"]content['"][^)]*\)))"""
    if re.search(r"\bfor\s+\w+\s+in\s+\(?(?:" + content + r"|content\b)", source):
        return True
    named = re.findall(r"\bset\s+(\w+)\s*=\s*" + content, source)
    return any(name in named for name in re.findall(r"\bfor\s+\w+\s+in\s+(\w+)", source))


# What servers do before they call the template.
def prepared(conversation, source):
    conversation = json.loads(json.dumps(conversation))
    for message in conversation["messages"]:
        if message.get("content") is None:
            message["content"] = ""
        if isinstance(message["content"], list) and not overparts(source):
            message["content"] = "\n".join(part["text"] for part in message["content"])
        for call in message.get("tool_calls", []):
            if isinstance(call["function"]["arguments"], str):
                call["function"]["arguments"] = json.loads(call["function"]["arguments"])
    return conversation["messages"]


templates = {
    "turns": """{{- bos_token }}
{%- for m in messages %}
    {%- if m.role == 'system' and loop.first %}
        {{- '<sys>\\n' + m.content | trim + '\\n' }}
    {%- else %}
  <{{ m['role'] }}>  {{ m.content }}
    {% endif %}
{% endfor %}
{%- if add_generation_prompt %}<answer>{% endif %}
""",
    "names": """{% set found = false %}{% for m in messages %}
{%- if m.role == 'user' %}{% set found = true %}{% set last = m.content %}{% endif %}
[{{ found }} {{ last is defined }}{{ last | default('-') }}]
{%- endfor %}{{ found }}""",
    "counters": """{%- set ns = namespace(users=0, tools=[]) %}
{%- for m in messages[::-1] %}{% if m.role == 'user' and not m.content.startswith('<') %}
{%- set ns.users = ns.users + 1 %}{% endif %}{% endfor %}
{{ ns.users }} {{ messages | selectattr('role', 'equalto', 'tool') | list | length }}
{%- for m in messages if m.role != 'system' -%} {{ loop.index0 }}/{{ loop.length }}{{ ',' if not loop.last }} {%- endfor %}""",
    "calls": """{%- macro arguments(values) -%}
{%- for k, v in values.items() if v is not none -%}
<{{ k }}>{{ v | tojson if v is mapping or v is iterable and v is not string else v | string }}</{{ k }}>{{ '' if loop.last else ', ' }}
{%- endfor -%}
{%- endmacro -%}
{%- for m in messages %}{% if m.tool_calls %}{% for c in m.tool_calls %}
{{- c.function.name }}({{ arguments(c.function.arguments) }}){{ c.function.arguments }}
{% endfor %}{% endif %}{% endfor %}""",
    "tools": """{%- if tools %}{{ tools | tojson }}
{% for t in tools %}{{ t.function | tojson(indent=4) }}{{ t['function'] | tojson(separators=(',', ':'), sort_keys=true) }}
{{ t.function.description | tojson(ensure_ascii=true) }}{% endfor %}{{ tools[0].function.parameters.properties.items() | list | length }}
{%- endif %}""",
    "texts": """{% for m in messages %}{% if m.content is string %}
{{ m.content.strip() }}|{{ m.content.rstrip() }}|{{ m.content.lstrip() }}|{{ m.content.split('</think>')[-1].lstrip('\\n') }}
{{ m.content | upper }}{{ m.content | length }}{{ m.content[:3] }}{{ '<x>' in m.content }}{{ m.content.replace('a', 'é') }}
{% endif %}{% endfor %}""",
    "longer": """{% for m in messages %}{% if m.content is string %}
{{ m.content.replace('a', 'é').replace('\n', '\n  ') | replace('x', '<x>', 2) }}{{ ('[' ~ m.content ~ ']').replace('[', '(', 1) }}
{{ m.content | indent }}|{{ m.content | indent(2, true) }}|{{ m.content | trim | indent(width='> ', first=true) }}
{{ '{} {1}'.replace('{1}', '{}').format(m.role, m.content | length) }}{{ '{1}{{{0}}}{n}'.format(m.role, [1, none], n=loop.index) }}
{{ [m.role, loop.index, none, [m.content]] | join(', ') }}{{ 3 * ['a.b', m.role][0].replace('.', '-') | length + 1 }}
{% endif %}{% endfor %}{{ messages | join('/', attribute='role') }}{{ messages | map(attribute='role') | join }}""",
    "parts": """{% for m in messages %}{% if m.content is string %}{{ m.content }}{% else %}
  {%- for part in m.content %}{% if part.type == 'text' %}{{ part['text'] }}{% endif %}{% endfor %}
{% endif %}{{ eos_token }}{% endfor %}""",
    "checks": """{% if messages[0].role == 'system' %}{% set rest = messages[1:] %}{% else %}{% set rest = messages %}{% endif %}
{% for m in rest %}{% if m.role == 'tool' and m.content == '' %}{{ raise_exception('empty ' ~ loop.index) }}{% endif %}
{{ '%s-%s' | format(m.role, loop.index) if false else m.role ~ '-' ~ loop.index }}
{% if loop.index > 3 %}{% break %}{% endif %}{% endfor %}{{ strftime_now('%d %B %Y') }}""",
}
for path in sorted(glob.glob(os.path.join(os.environ.get("CACHESIM_TEMPLATES", "/nowhere"), "*.jinja"))):
    with open(path, encoding="utf-8") as file:
        templates[os.path.basename(path)] = file.read()
conversations = [conversation() for _ in range(100)]
result = []
for name, source in templates.items():
    template = environment.from_string(source)
    written = []
    for c in conversations:
        values = {"bos_token": "<s>", "eos_token": "</s>", "documents": None, "add_generation_prompt": True}
        try:
            written.append(template.render(messages=prepared(c, source), tools=c["tools"], **values))
        except Exception:
            written.append(None)
    result.append({"name": name, "source": source, "texts": written})
json.dump({"conversations": conversations, "templates": result}, sys.stdout)
