package chattemplate

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/ardanlabs/jinja"
)

type function = func(args []jinja.Value, named map[string]jinja.Value) (jinja.Value, error)

// Names of functions that rewritten templates call. Those of the library differ from Python's.
const (
	printName    = "cachesim_print"
	stepName     = "cachesim_step"
	enterName    = "cachesim_enter"
	leaveName    = "cachesim_leave"
	jsonName     = "cachesim_json"
	stringName   = "cachesim_string"
	rstripName   = "cachesim_rstrip"
	lstripName   = "cachesim_lstrip"
	listName     = "cachesim_list"
	appendName   = "cachesim_append"
	textName     = "cachesim_text"
	holdName     = "cachesim_hold"
	leftName     = "cachesim_left"
	timesName    = "cachesim_times"
	readName     = "cachesim_read"
	splitName    = "cachesim_split"
	goesOverName = "cachesim_over"
	addName      = "cachesim_add"
	boundName    = "cachesim_bound"
	eachName     = "cachesim_each"

	replaceName = "cachesim_replace"
	joinName    = "cachesim_join"
	indentName  = "cachesim_indent"
	formatName  = "cachesim_format"
	pushName    = "cachesim_push"
	insertName  = "cachesim_insert"
	updateName  = "cachesim_update"
	keepName    = "cachesim_keep"
)

var errSteps = fmt.Errorf("more than %d steps for one conversation", mostSteps)

// functions are what a template may call, beside the library's own.
func (t *Template) functions() map[string]function {
	nothing := jinja.NewString("")
	count := func() error {
		t.endExpression()
		if t.steps++; t.steps > mostSteps {
			return errSteps
		}
		return t.addWork(1)
	}
	return map[string]function{
		printName: func(args []jinja.Value, _ map[string]jinja.Value) (jinja.Value, error) {
			text, err := t.str(first(args))
			if err == nil {
				err = errors.Join(t.write(len(text)), count())
			}
			return jinja.NewString(text), err
		},
		textName: func(args []jinja.Value, _ map[string]jinja.Value) (jinja.Value, error) {
			return first(args), t.write(len(first(args).AsString()))
		},
		holdName: func(args []jinja.Value, _ map[string]jinja.Value) (jinja.Value, error) {
			return first(args), t.checkSize(first(args))
		},
		timesName: func(args []jinja.Value, _ map[string]jinja.Value) (jinja.Value, error) {
			return first(args), t.repeat(first(args))
		},
		leftName: func(args []jinja.Value, _ map[string]jinja.Value) (jinja.Value, error) {
			size := int64(0)
			if first(args).IsString() {
				size = int64(len(first(args).AsString()))
			}
			t.lefts = append(t.lefts, size)
			return first(args), nil
		},
		readName: func(args []jinja.Value, _ map[string]jinja.Value) (jinja.Value, error) {
			return first(args), t.read(first(args))
		},
		splitName: func(args []jinja.Value, _ map[string]jinja.Value) (jinja.Value, error) {
			return first(args), t.splitUp(first(args))
		},
		goesOverName: func(args []jinja.Value, _ map[string]jinja.Value) (jinja.Value, error) {
			if first(args).IsString() {
				return first(args), t.splitUp(first(args))
			}
			return first(args), nil
		},
		addName: func(args []jinja.Value, _ map[string]jinja.Value) (jinja.Value, error) {
			return first(args), t.add(first(args))
		},
		boundName: func(args []jinja.Value, _ map[string]jinja.Value) (jinja.Value, error) {
			return t.bound(first(args)), nil
		},
		eachName: func([]jinja.Value, map[string]jinja.Value) (jinja.Value, error) { return jinja.NewBool(true), count() },
		stepName: func([]jinja.Value, map[string]jinja.Value) (jinja.Value, error) { return nothing, count() },
		enterName: func(args []jinja.Value, _ map[string]jinja.Value) (jinja.Value, error) {
			if t.depth++; t.depth > deepest {
				return nothing, fmt.Errorf("more than %d macros within each other", deepest)
			}
			for _, arg := range args {
				if err := t.checkSize(arg); err != nil {
					return nothing, err
				}
			}
			return nothing, count()
		},
		leaveName: func([]jinja.Value, map[string]jinja.Value) (jinja.Value, error) {
			t.depth--
			return nothing, nil
		},
		jsonName:   t.toJSON,
		stringName: t.onText(func(text string) string { return text }),
		rstripName: t.onText(func(text string) string { return strings.TrimRightFunc(text, unicode.IsSpace) }),
		lstripName: t.onText(func(text string) string { return strings.TrimLeftFunc(text, unicode.IsSpace) }),
		listName:   func([]jinja.Value, map[string]jinja.Value) (jinja.Value, error) { return jinja.NewList(nil), nil },
		appendName: func(args []jinja.Value, _ map[string]jinja.Value) (jinja.Value, error) {
			args[0].AsList().Append(jinja.NewList(args[1:]))
			return nothing, count()
		},
		"raise_exception": func(args []jinja.Value, _ map[string]jinja.Value) (jinja.Value, error) {
			t.refused = true
			return nothing, errors.New(str(first(args)))
		},
		"range": t.numbers,
		"strftime_now": func(args []jinja.Value, _ map[string]jinja.Value) (jinja.Value, error) {
			return jinja.NewString(formatDate(t.when, str(first(args)))), nil
		},
	}
}

func first(args []jinja.Value) jinja.Value {
	if len(args) == 0 {
		return jinja.Undefined()
	}
	return args[0]
}

func (t *Template) onText(change func(string) string) function {
	return func(args []jinja.Value, _ map[string]jinja.Value) (jinja.Value, error) {
		text, err := t.str(first(args))
		return jinja.NewString(change(text)), err
	}
}

// numbers is range, of bounded length.
func (t *Template) numbers(args []jinja.Value, _ map[string]jinja.Value) (jinja.Value, error) {
	const most = 100_000
	bounds := make([]int64, 0, 3)
	for _, arg := range args {
		if !arg.IsInt() {
			return jinja.Undefined(), errors.New("range: want whole numbers")
		}
		bounds = append(bounds, arg.AsInt())
	}
	from, until, step := int64(0), int64(0), int64(1)
	switch len(bounds) {
	case 1:
		until = bounds[0]
	case 2:
		from, until = bounds[0], bounds[1]
	case 3:
		from, until, step = bounds[0], bounds[1], bounds[2]
	}
	if step == 0 || len(bounds) == 0 || len(bounds) > 3 {
		return jinja.Undefined(), errors.New("range: want one to three whole numbers, the last of which is not 0")
	}
	var list []jinja.Value
	for i := from; step > 0 && i < until || step < 0 && i > until; i += step {
		if list = append(list, jinja.NewInt(i)); len(list) > most {
			return jinja.Undefined(), fmt.Errorf("range: more than %d numbers", most)
		}
	}
	const ofNumber = 64
	return jinja.NewList(list), t.addWork(int64(len(list)) * ofNumber)
}

// str returns a value as Python's str does. An undefined one is empty.
func str(v jinja.Value) string {
	switch {
	case v.IsUndefined():
		return ""
	case v.IsString():
		return v.AsString()
	}
	return repr(v)
}

// repr returns a value as Python's repr does.
func repr(v jinja.Value) string {
	switch {
	case v.IsNone():
		return "None"
	case v.IsString():
		return quote(v.AsString())
	case v.IsFloat():
		return floatText(v.AsFloat())
	case v.IsList():
		parts := make([]string, 0, v.AsList().Len())
		for _, item := range v.AsList().Items {
			parts = append(parts, repr(item))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case v.IsDict():
		d := v.AsDict()
		parts := make([]string, 0, d.Len())
		for _, key := range d.Keys {
			parts = append(parts, quote(key)+": "+repr(d.Data[key]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return v.String()
}

// quote writes a text as Python's repr does.
func quote(text string) string {
	mark := '\''
	if strings.ContainsRune(text, '\'') && !strings.ContainsRune(text, '"') {
		mark = '"'
	}
	var to strings.Builder
	to.WriteRune(mark)
	for _, r := range text {
		switch {
		case writeEscaped(&to, r, mark):
		case unicode.IsPrint(r):
			to.WriteRune(r)
		case r < 0x100:
			fmt.Fprintf(&to, `\x%02x`, r)
		case r < 0x10000:
			fmt.Fprintf(&to, `\u%04x`, r)
		default:
			fmt.Fprintf(&to, `\U%08x`, r)
		}
	}
	to.WriteRune(mark)
	return to.String()
}

// writeEscaped writes a character that has a short escape in Python and in JSON, and reports whether r is one. mark is
// around the text.
func writeEscaped(to *strings.Builder, r, mark rune) bool {
	switch r {
	case mark, '\\':
		to.WriteByte('\\')
		to.WriteRune(r)
	case '\n':
		to.WriteString(`\n`)
	case '\r':
		to.WriteString(`\r`)
	case '\t':
		to.WriteString(`\t`)
	default:
		return false
	}
	return true
}

// floatText writes a number as Python's repr does: the shortest text, with an exponent outside 1e-4 to 1e16.
func floatText(f float64) string {
	if size := math.Abs(f); f != 0 && (size < 1e-4 || size >= 1e16) {
		text := strconv.FormatFloat(f, 'e', -1, 64)
		return text
	}
	text := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}

// jsonStyle is how json.dumps of Python writes.
type jsonStyle struct {
	item, key string // separators
	indent    string // of one level; items are on lines of their own if lines is set
	lines     bool
	ascii     bool
	sorted    bool
	most      int // bytes, after which lists and objects are not continued
}

// toJSON is tojson as transformers defines it.
func (t *Template) toJSON(args []jinja.Value, named map[string]jinja.Value) (jinja.Value, error) {
	if err := t.checkSize(first(args)); err != nil {
		return jinja.Undefined(), err
	}
	style := jsonStyle{item: ", ", key: ": "}
	option := func(name string, place int) (jinja.Value, bool) {
		if place < len(args) {
			return args[place], !args[place].IsNone()
		}
		v, ok := named[name]
		return v, ok && !v.IsNone() && !v.IsUndefined()
	}
	if v, ok := option("ensure_ascii", 1); ok {
		style.ascii = v.IsTruthy()
	}
	if v, ok := option("indent", 2); ok {
		style.lines, style.item = true, ","
		if v.IsInt() {
			const most = 100
			style.indent = strings.Repeat(" ", int(max(0, min(v.AsInt(), most))))
		} else {
			style.indent = str(v)
		}
	}
	if v, ok := option("separators", 3); ok {
		if !v.IsList() || v.AsList().Len() != 2 {
			return jinja.Undefined(), errors.New("tojson: want two separators")
		}
		style.item, style.key = str(v.AsList().Get(0)), str(v.AsList().Get(1))
	}
	if v, ok := option("sort_keys", 4); ok {
		style.sorted = v.IsTruthy()
	}
	var to strings.Builder
	style.most = int(t.most)
	if err := style.write(&to, first(args), "\n"); err != nil {
		return jinja.Undefined(), err
	}
	if to.Len() > style.most {
		return jinja.Undefined(), t.errSize()
	}
	return jinja.NewString(to.String()), t.addWork(int64(to.Len()))
}

// write appends a value; line is the beginning of its lines.
func (s *jsonStyle) write(to *strings.Builder, v jinja.Value, line string) error {
	switch {
	case v.IsNone():
		to.WriteString("null")
	case v.IsBool():
		to.WriteString(strings.ToLower(repr(v)))
	case v.IsNumber():
		to.WriteString(repr(v))
	case v.IsString():
		s.writeText(to, v.AsString())
	case v.IsList():
		return s.writeAll(to, '[', ']', v.AsList().Len(), line, func(i int, line string) error {
			return s.write(to, v.AsList().Get(i), line)
		})
	case v.IsDict():
		d := v.AsDict()
		keys := d.Keys
		if s.sorted {
			keys = sortedKeys(d)
		}
		return s.writeAll(to, '{', '}', len(keys), line, func(i int, line string) error {
			s.writeText(to, keys[i])
			to.WriteString(s.key)
			return s.write(to, d.Data[keys[i]], line)
		})
	default:
		return errors.New("tojson: an undefined value")
	}
	return nil
}

func (s *jsonStyle) writeAll(to *strings.Builder, begin, end byte, n int, line string,
	write func(i int, line string) error) error {
	to.WriteByte(begin)
	inner := line + s.indent
	for i := 0; i < n && to.Len() <= s.most; i++ {
		if i > 0 {
			to.WriteString(s.item)
		}
		if s.lines {
			to.WriteString(inner)
		}
		if err := write(i, inner); err != nil {
			return err
		}
	}
	if s.lines && n > 0 {
		to.WriteString(line)
	}
	to.WriteByte(end)
	return nil
}

func (s *jsonStyle) writeText(to *strings.Builder, text string) {
	to.WriteByte('"')
	for _, r := range text {
		switch {
		case writeEscaped(to, r, '"'):
		case r == '\b':
			to.WriteString(`\b`)
		case r == '\f':
			to.WriteString(`\f`)
		case r < 0x20 || s.ascii && r >= 0x7f && r < 0x10000:
			fmt.Fprintf(to, `\u%04x`, r)
		case s.ascii && r >= 0x10000:
			high, low := (r-0x10000)>>10+0xd800, (r-0x10000)&0x3ff+0xdc00
			fmt.Fprintf(to, `\u%04x\u%04x`, high, low)
		default:
			to.WriteRune(r)
		}
	}
	to.WriteByte('"')
}

// formatDate writes a time as strftime does.
func formatDate(when time.Time, format string) string {
	layouts := map[byte]string{'Y': "2006", 'm': "01", 'd': "02", 'H': "15", 'M': "04", 'S': "05", 'B': "January",
		'b': "Jan", 'h': "Jan", 'A': "Monday", 'a': "Mon", 'p': "PM", 'I': "03", 'y': "06", 'e': "_2", 'j': "002", 'Z': "MST",
		'z': "-0700", 'F': "2006-01-02", 'T': "15:04:05", 'D': "01/02/06", 'c': "Mon Jan _2 15:04:05 2006", 'x': "01/02/06",
		'X': "15:04:05"}
	var to strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			to.WriteByte(format[i])
			continue
		}
		i++
		short := format[i] == '-' && i+1 < len(format) // without a leading zero
		if short {
			i++
		}
		text := "%" + format[i:i+1]
		if layout, ok := layouts[format[i]]; ok {
			text = when.Format(layout)
		} else if format[i] == '%' {
			text = "%"
		}
		if short {
			text = strings.TrimLeft(text, "0 ")
		}
		to.WriteString(text)
	}
	return to.String()
}
