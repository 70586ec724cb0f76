package weblogs

import (
	"bytes"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// common is what recogniseCommon finds.
type common struct {
	format string // as the option takes it
	about  string
	exact  bool // no columns follow that the format does not name
}

// commonCore is what the lines of nearly all access logs have: anything may come before it and after it.
const commonCore = `$client [$time_local] "$request" $status $body_bytes_sent`

var compiledCore = sync.OnceValues(func() (*layout, error) { return compileNew(commonCore) })

// mostLooked is how many lines detection looks at.
const mostLooked = 50

// recogniseCommon finds out which variant of the common log format the first lines of a file have. They need not all
// have it: damaged lines are reported when they are read.
func recogniseCommon(lines [][]byte) (c common, err error) {
	core, err := compiledCore()
	if err != nil {
		return c, err
	}
	p := parser{layout: core}
	lines = firstRequests(source.WithoutBlankEnd(lines))
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
	c.about += fmt.Sprintf(" and %s after it", stream.Counted(extra, "column"))
	if at := servedColumn(tails, len(columns)); at >= 0 {
		c.format += tailFormat(columns[:at+1])
		c.about += fmt.Sprintf(", of which number %d is the hit or miss", at+1-named)
	}
	return c
}

// anyColumns stands for unknown columns before the time.
const anyColumns = "$client"

// commonBefore returns the format of the part before the time of a line, and the prefix of the names of such formats.
// The part has client, identity and user; a virtual host may precede them, with or without its port.
func commonBefore(prefix []byte) (format, nickname string) {
	words := bytes.Fields(prefix)
	switch {
	case len(words) == 3:
		return "$remote_addr $ident $remote_user", ""
	case len(words) < 3 || !hostName.Match(words[0]) || isAddress(words[0]) || len(words) > 4 && !isAddress(words[1]):
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

// hostName is the name of a host, with or without a port.
var hostName = regexp.MustCompile(`^(?:[\w-]+\.)*[a-zA-Z][\w-]*(?::\d+)?$`)

// column is one of those after the size.
type column struct {
	text   []byte
	quoted bool
}

// cutColumns cuts the columns after the size, which blanks separate, in quotes or without.
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
		switch {
		case lines <= 0:
		case found >= 0:
			return -1
		default:
			found = i
		}
	}
	return found
}

// cacheWords are in the words that caches write.
var cacheWords = []string{"HIT", "MISS", "EXPIRED", "STALE", "UPDATING", "REVALIDATED", "REFRESH", "-", "PASS", "NONE",
	"DYNAMIC", "DENIED", "TUNNEL", "REDIRECT", "ERROR", "ERR_", "SYNTH", "PIPE"}

// isCacheWord reports whether a cache writes such a word: HIT, TCP_MISS:HIER_DIRECT, RefreshHit. A name may come before
// it (cs=HIT), as in log formats that name their columns.
func isCacheWord(word []byte) bool {
	const longest = 40
	if len(word) > longest {
		return false
	}
	for _, c := range word {
		if letter := c | ' '; (letter < 'a' || letter > 'z') && strings.IndexByte("_-:=", c) < 0 {
			return false
		}
	}
	is := func(other string) bool { return bytes.Contains(bytes.ToUpper(word), []byte(other)) }
	return slices.ContainsFunc(cacheWords, is)
}

// tailFormat returns the format of columns that end with the hit or miss.
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
	case err != nil:
		delimiter, ok := source.GuessDelimiter(source.WithoutBlankEnd(head.Lines))
		if ok && !source.IsBlank(delimiter) { // a table, such as CSV
			return source.Possible
		}
		return source.Likely
	case c.exact:
		return source.Certain
	}
	return source.Likely
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
