package weblogs

import (
	"bytes"
	"fmt"
	"io"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

var accessFormat = source.Format{
	Name: "access",
	Summary: "access logs of nginx, Apache, Varnish, lighttpd, Tomcat and others: common, combined, or any format that " +
		"log_format or LogFormat describes",
	Example: `10.0.0.1 - - [10/Oct/2000:13:55:36 -0700] "GET /a.png HTTP/1.1" 200 2326 "-" "curl/8.5.0"`,
	Carries: "key (host and path), and time, size, operation, host or client, and hits of the server as far as they " +
		"are logged",
	Detection: `a time such as [10/Oct/2000:13:55:36 -0700], a request in quotes, a status and a size`,
	Options: append(RuleOptions(),
		params.Param{Name: "format-file", Default: "", File: true, Doc: "a file with the format, as for format"},
		params.Param{Name: "format", Default: "", Rest: true, Doc: "the server's own log_format (nginx) or LogFormat " +
			"(Apache), pasted as it is, as the last option; or common, combined, vhost_common or vhost_combined; by " +
			"default what the first lines look like"},
	),
	Writes: stream.WritesInvalidate,
	Detect: detectAccess,
	Open:   openAccess,
}

// longestFormat bounds a file with a format, in bytes.
const longestFormat = 64 << 10

func openAccess(src *source.Source, opts params.Values) (stream.Reader, stream.Fields, error) {
	if err := CheckRules(opts); err != nil {
		return nil, stream.Fields{}, src.Errorf("%w", err)
	}
	text, err := chosenFormat(src, opts)
	if err != nil {
		return nil, stream.Fields{}, err
	}
	about := ""
	if text == "" {
		head, err := src.Head()
		if err != nil {
			return nil, stream.Fields{}, err
		}
		c, err := recogniseCommon(head.Lines)
		if err != nil {
			return nil, stream.Fields{}, src.Errorf("%w", err)
		}
		text, about = c.format, c.about
		opts["format"] = text
	}
	l, err := compile(text)
	if option := optionBehind.FindString(text); err == nil && option != "" {
		err = fmt.Errorf("it ends with %q: name other options before it, as in access:%s,format=...", option, option[1:])
	}
	if err != nil {
		return nil, stream.Fields{}, src.Errorf("format %.200q: %w", text, err)
	}
	if about == "" {
		about = "the given format"
		if _, ok := nicknames[text]; ok {
			about = text
		}
	}
	return openLayout(src, opts, l, description{about: about})
}

// optionBehind is an option behind the format, of which it would be a part.
var optionBehind = regexp.MustCompile(`,(?:query|methods|statuses|tenant|format-file)=[^,$%]*$`)

// chosenFormat returns the format that the options name, "" if they name none.
func chosenFormat(src *source.Source, opts params.Values) (string, error) {
	path := opts.Text("format-file")
	if path == "" {
		return opts.Text("format"), nil
	}
	if opts.Text("format") != "" {
		return "", src.Errorf("format and format-file are both given: leave one out")
	}
	text, err := src.ReadBeside(path, "format", func(file *source.Source) (any, error) {
		text, err := io.ReadAll(io.LimitReader(file, longestFormat+1))
		if err == nil && len(text) > longestFormat {
			err = file.Errorf("is longer than %d bytes: want the log_format or the LogFormat alone", longestFormat)
		}
		return strings.TrimRight(string(text), " \t\r\n"), err
	})
	if err != nil {
		return "", err
	}
	return text.(string), nil
}

// logReader reads the requests of a log whose lines have one layout.
type logReader struct {
	parser parser
	rules  *Rules
}

// description says what people should know about a layout.
type description struct {
	about string // which one it is of those that a format may have; "" if there is only one
	key   string // what the key is if it is not host and path
}

// openLayout returns the reader of a log with a layout.
func openLayout(src *source.Source, opts params.Values, l *layout, d description) (stream.Reader, stream.Fields,
	error) {
	head, err := src.Head()
	if err != nil {
		return nil, stream.Fields{}, err
	}
	r := &logReader{parser: parser{layout: l}}
	columns := l.columns()
	columns.Host = columns.Host || slices.ContainsFunc(head.Lines, func(line []byte) bool {
		return r.parser.parse(line) == nil && r.parser.entry.hasURL()
	})
	if r.rules, err = NewRules(src, opts, columns); err != nil {
		return nil, stream.Fields{}, err
	}
	l.state(src.Reading, d)
	return source.ReadLines(src, r.parse), r.rules.Fields(), nil
}

func (r *logReader) parse(line []byte, rec *stream.Record) error {
	if err := r.parser.parse(line); err != nil {
		return err
	}
	return r.rules.Record(&r.parser.entry, rec)
}

// state says in the reading what the layout is.
func (l *layout) state(reading *source.Reading, d description) {
	reading.Layout = d.about
	if d.key != "" {
		reading.Key = strings.Replace(reading.Key, "host and path", d.key, 1)
	}
	if l.has(allBytes) {
		reading.Size = "size with headers"
	}
	if l.columns().Served {
		reading.Served = "hit or miss of the server"
	}
}

// common is what recogniseCommon finds.
type common struct {
	format string // as the option takes it
	about  string
	exact  bool // no columns follow that the format does not name
}

// commonCore is what the lines of nearly all access logs have: anything may come before it and after it.
const commonCore = `$client [$time_local] "$request" $status $body_bytes_sent`

// mostLooked is how many lines detection looks at.
const mostLooked = 50

// recogniseCommon finds out which variant of the common log format the first lines of a file have. They need not all
// have it: damaged lines are reported when they are read.
func recogniseCommon(lines [][]byte) (c common, err error) {
	core, err := compile(commonCore)
	if err != nil {
		return c, err
	}
	p := parser{layout: core}
	lines = source.WithoutBlankEnd(lines)
	lines = lines[:min(len(lines), mostLooked)]
	var tails [][]byte
	var first, wrong []byte
	var why error
	for _, line := range lines {
		tail, err := p.take(line, core.steps)
		switch {
		case err == nil && tails == nil:
			first, tails = line, append(tails, tail)
		case err == nil:
			tails = append(tails, tail)
		case wrong == nil:
			wrong, why = line, err
		}
	}
	if len(tails) == 0 || 2*len(tails) < len(lines) {
		return c, foreignLayout(wrong, why)
	}
	return commonOf(first, tails), nil
}

// foreignLayout says how a line differs from the common log format, and how to read it.
func foreignLayout(line []byte, why error) error {
	if why == nil {
		why = fmt.Errorf("no whole line within %d bytes", source.HeadLen)
	}
	return fmt.Errorf("looks like an access log, but not in the common or combined format (%.80q: %w); paste the "+
		"server's own: --input-format 'access:format=...' with what log_format of nginx or LogFormat of Apache says",
		line, why)
}

// commonOf returns the variant of a log, given its first line, and what follows the size in each line.
func commonOf(first []byte, tails [][]byte) common {
	prefix, _, _ := bytes.Cut(first, []byte(" ["))
	before, nickname := commonBefore(prefix)
	c := common{format: before + ` [$time_local] "$request" $status $body_bytes_sent`, about: nickname + "common"}
	columns := cutColumns(tails[0])
	named := 0
	if len(columns) >= 2 && columns[0].quoted && columns[1].quoted {
		c.about, named = nickname+"combined", 2
	}
	extra := len(columns) - named
	if c.exact = extra == 0; c.exact {
		if nicknames[c.about] != "" && !strings.Contains(before, anyColumns) {
			c.format = c.about
		}
		return c
	}
	c.about += fmt.Sprintf(" and %s after it", counted(extra, "column"))
	if at := servedColumn(tails, len(columns)); at >= 0 {
		c.format += tailFormat(columns[:at+1])
		c.about += fmt.Sprintf(", of which number %d is the hit or miss", at+1-named)
	}
	return c
}

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// anyColumns stands for what comes before the time, if it is nothing that is known.
const anyColumns = "$client"

// commonBefore returns the format of what comes before the time of a line, and what the names of formats with it begin
// with: client, identity and user, before which a virtual host may come, with or without its port.
func commonBefore(prefix []byte) (format, nickname string) {
	words := bytes.Fields(prefix)
	switch {
	case len(words) == 3:
		return "$remote_addr $ident $remote_user", ""
	case len(words) < 3 || !isHost(words[0]) || len(words) > 4 && !isAddress(words[1]):
		return anyColumns, ""
	}
	client := "$remote_addr $ident $remote_user"
	if len(words) > 4 { // the client is a list, such as that of X-Forwarded-For
		client = anyColumns
	}
	if _, port, ok := bytes.Cut(words[0], []byte(":")); ok && source.IsDigits(port) {
		return "$server_name:$server_port " + client, "vhost_"
	}
	return "$server_name " + client, "vhost_"
}

// isAddress reports whether a word is an IP address, which others may follow in quotes or after a comma.
func isAddress(word []byte) bool {
	_, err := netip.ParseAddr(string(bytes.Trim(word, `",`)))
	return err == nil
}

// isHost reports whether a word looks like the name of a host, with or without a port: one with a dot.
func isHost(word []byte) bool {
	return hostName.Match(word) && !isAddress(word)
}

var hostName = regexp.MustCompile(`^(?:[\w-]+\.)*[a-zA-Z][\w-]*(?::\d+)?$`)

// column is one of those that follow the size.
type column struct {
	text   []byte
	quoted bool
}

// cutColumns cuts what follows the size into columns, which blanks separate, in quotes or without.
func cutColumns(tail []byte) (columns []column) {
	for {
		if tail = bytes.TrimLeft(tail, " "); len(tail) == 0 {
			return columns
		}
		if tail[0] != '"' {
			var text []byte
			text, tail, _ = bytes.Cut(tail, []byte(" "))
			columns = append(columns, column{text, false})
			continue
		}
		end := 1
		for end < len(tail) && (tail[end] != '"' || isEscaped(tail[:end])) {
			end++
		}
		columns = append(columns, column{tail[1:end], true})
		tail = tail[min(end+1, len(tail)):]
	}
}

// servedColumn returns the column in which each line has a word that a cache writes, and some line a hit or a miss, -1
// if none or several have.
func servedColumn(tails [][]byte, columns int) int {
	possible, found := make([]int, columns), -1 // lines with such a word
	for _, tail := range tails {
		for i, c := range cutColumns(tail) {
			if i >= columns || possible[i] < 0 {
				continue
			}
			switch word := c.text; {
			case !isCacheWord(word):
				possible[i] = -1
			case source.ParseServed(word) != stream.ServedUnknown:
				possible[i]++
			}
		}
	}
	for i, lines := range possible {
		if lines > 0 && found >= 0 {
			return -1
		}
		if lines > 0 {
			found = i
		}
	}
	return found
}

// cacheWords are in the words that caches write.
var cacheWords = []string{"HIT", "MISS", "EXPIRED", "STALE", "UPDATING", "REVALIDATED", "REFRESH", "-", "PASS", "NONE",
	"DYNAMIC", "DENIED", "TUNNEL", "REDIRECT", "ERROR", "SYNTH"}

// isCacheWord reports whether a cache writes such a word: HIT, TCP_MISS:HIER_DIRECT, RefreshHit.
func isCacheWord(word []byte) bool {
	const longest = 40
	if len(word) > longest {
		return false
	}
	for _, c := range word {
		if letter := c | ' '; (letter < 'a' || letter > 'z') && c != '_' && c != '-' && c != ':' {
			return false
		}
	}
	is := func(other string) bool { return bytes.Contains(bytes.ToUpper(word), []byte(other)) }
	return slices.ContainsFunc(cacheWords, is)
}

// tailFormat returns the format of columns, of which the last is the hit or miss.
func tailFormat(columns []column) (format string) {
	for i, c := range columns {
		name := fmt.Sprintf("$column%d", i+1)
		if i == len(columns)-1 {
			name = "$upstream_cache_status"
		}
		if c.quoted {
			name = `"` + name + `"`
		}
		format += " " + name
	}
	return format
}

// detectAccess is sure of the common log format, and less so of what has further columns, since other formats begin
// like it. What only looks like a log of requests is opened to say how it can be read.
func detectAccess(head source.Head, _ string) source.Confidence {
	c, err := recogniseCommon(head.Lines)
	switch {
	case err != nil && (source.IsBinary(head.Bytes) || !looksLikeRequests(head.Lines)):
		return source.No
	case err != nil && isTable(head.Lines):
		return source.Possible
	case err != nil:
		return source.Likely
	case c.exact:
		return source.Certain
	}
	return source.Likely
}

// isTable reports whether something other than blanks separates columns, as in CSV.
func isTable(lines [][]byte) bool {
	delimiter, ok := source.GuessDelimiter(source.WithoutBlankEnd(lines))
	return ok && !source.IsBlank(delimiter)
}

// looksLikeRequests reports whether most of the first lines have a method with a path.
func looksLikeRequests(lines [][]byte) bool {
	lines = source.WithoutBlankEnd(lines)
	lines = lines[:min(len(lines), mostLooked)]
	requests := 0
	for _, line := range lines {
		if requestText.Match(line) {
			requests++
		}
	}
	return requests > 0 && 2*requests >= len(lines) && requestText.Match(lines[0]) && lines[0][0] != '{'
}

// requestText is a method with a path or a URL.
var requestText = regexp.MustCompile(`\b(?:GET|HEAD|POST|PUT|DELETE|OPTIONS)["']?[ \t,;|]+["']?(?:/|https?://)`)
