package weblogs

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/traces/stream"
)

// queryRule says what of the query of a URL belongs to the key.
type queryRule struct {
	text string
	drop bool     // all of it
	sort bool     // its parameters
	less patterns // names of parameters that do not belong to it
}

// patterns are names in which * stands for any letters, by their first byte; those that begin with * are everywhere.
// nil has none.
type patterns [][]string

func newPatterns(names []string) patterns {
	if len(names) == 0 {
		return nil
	}
	p := make(patterns, 256)
	for first := range p {
		for _, name := range names {
			if name[0] == '*' || int(name[0]) == first {
				p[first] = append(p[first], name)
			}
		}
	}
	return p
}

// has reports whether a name is one of the patterns.
func (p patterns) has(name []byte) bool {
	var first byte // of no name, unless it is empty
	if len(name) > 0 {
		first = name[0]
	}
	return p != nil && slices.ContainsFunc(p[first], func(pattern string) bool { return matches(pattern, name) })
}

// keeps reports whether the query belongs to the key as it is.
func (q *queryRule) keeps() bool { return !q.drop && !q.sort && len(q.less) == 0 }

// trackingName is the name of the list of trackingParameters.
const trackingName = "tracking"

// trackingParameters say where a visitor came from, and make no other page: Google Analytics and Ads, Facebook,
// Microsoft, X, TikTok, Yandex, LinkedIn, Instagram, Pinterest, Mailchimp, HubSpot, Marketo, Matomo, Adobe and others.
var trackingParameters = []string{
	"utm_*", "gclid", "gclsrc", "gbraid", "wbraid", "dclid", "gad_source", "gad_campaignid", "srsltid",
	"_ga", "_gl", "_gac", "fbclid", "fb_action_ids", "fb_action_types", "fb_source", "msclkid", "twclid",
	"ttclid", "yclid", "ysclid", "_openstat", "li_fat_id", "igshid", "igsh", "epik", "mc_cid", "mc_eid",
	"_hsenc", "_hsmi", "__hstc", "__hssc", "__hsfp", "hsCtaTracking", "hsa_*", "mkt_tok", "mtm_*", "pk_*",
	"piwik_*", "matomo_*", "s_kwcid", "ef_id", "s_cid", "vero_id", "vero_conv", "oly_anon_id", "oly_enc_id",
	"rb_clickid", "zanpid", "wickedid", "irclickid", "ScCid", "sscid", "_branch_match_id", "at_medium",
	"at_campaign", "trk_contact", "trk_msg", "trk_module", "trk_sid",
}

// parseQuery reads the value of the option query: keep, drop, sort, drop:NAMES, or sort+drop:NAMES.
func parseQuery(text string) (q queryRule, err error) {
	q.text = text
	rest, sorted := strings.CutPrefix(text, "sort+")
	if q.sort = sorted || text == "sort"; text == "sort" {
		return q, nil
	}
	names, some := strings.CutPrefix(rest, "drop:")
	switch {
	case some:
		var less []string
		for name := range strings.SplitSeq(names, "|") {
			switch name = strings.TrimSpace(name); {
			case name == trackingName:
				less = append(less, trackingParameters...)
			case name == "" || strings.ContainsAny(name, "=&?"):
				return q, fmt.Errorf("query=%s: %q: want names of parameters joined by |, such as drop:utm_*|gclid, or "+
					"drop:%s for well-known ones", text, name, trackingName)
			default:
				less = append(less, name)
			}
		}
		q.less = newPatterns(less)
		return q, nil
	case sorted:
	case text == "drop":
		q.drop = true
		return q, nil
	case text == "keep":
		return q, nil
	}
	return q, fmt.Errorf("query=%s: want keep, drop, sort, drop:NAMES such as drop:utm_*|gclid or drop:%s, or "+
		"sort+drop:NAMES", text, trackingName)
}

// describe says what of the query is in the key.
func (q *queryRule) describe() string {
	text := " with query"
	switch {
	case q.drop:
		return " without query"
	case q.sort:
		text = " with sorted query"
	}
	if _, names, some := strings.Cut(q.text, "drop:"); some {
		text += " without " + strings.ReplaceAll(names, trackingName, "tracking parameters")
	}
	return text
}

// omits reports whether a parameter does not belong to the key.
func (q *queryRule) omits(part []byte) bool {
	name, _, _ := bytes.Cut(part, []byte("="))
	return q.less.has(name)
}

// matches reports whether a name is a pattern, in which * stands for any letters.
func matches(pattern string, name []byte) bool {
	for i := 0; i < len(pattern); i++ {
		if pattern[i] == '*' {
			for from := 0; from <= len(name); from++ {
				if matches(pattern[i+1:], name[from:]) {
					return true
				}
			}
			return false
		}
		if len(name) == 0 || name[0] != pattern[i] {
			return false
		}
		name = name[1:]
	}
	return len(name) == 0
}

// appendQuery appends what of a query belongs to the key. changed says that parameters do not.
func (r *Rules) appendQuery(query []byte) (changed bool) {
	if len(query) == 0 || r.query.drop {
		return false
	}
	if r.query.keeps() {
		r.key = append(append(r.key, '?'), query...)
		return false
	}
	r.parts = r.parts[:0]
	for part := range bytes.SplitSeq(query, []byte("&")) {
		if r.query.omits(part) {
			changed = true
		} else {
			r.parts = append(r.parts, part)
		}
	}
	if r.query.sort {
		slices.SortFunc(r.parts, bytes.Compare)
	}
	for i, part := range r.parts {
		separator := byte('&')
		if i == 0 {
			separator = '?'
		}
		r.key = append(append(r.key, separator), part...)
	}
	return changed
}

// tracker counts requests whose keys differ by tracking parameters alone.
type tracker struct {
	counts         *stream.Tracked
	whole, without map[uint64]struct{} // hashes of keys
	rule           queryRule
	buffer         []byte
}

// mostTracked bounds the keys that a tracker remembers.
const mostTracked = 1 << 16

func newTracker() any {
	return &tracker{counts: new(stream.Tracked), whole: map[uint64]struct{}{}, without: map[uint64]struct{}{},
		rule: queryRule{less: newPatterns(trackingParameters)}}
}

// see counts a key, if it has such parameters.
func (t *tracker) see(key []byte) {
	at := bytes.IndexByte(key, '?')
	if at < 0 {
		return
	}
	t.buffer = append(t.buffer[:0], key[:at]...)
	omitted := false
	for part := range bytes.SplitSeq(key[at+1:], []byte("&")) {
		if t.rule.omits(part) {
			omitted = true
			continue
		}
		t.buffer = append(append(t.buffer, '&'), part...)
	}
	if !omitted {
		return
	}
	t.counts.Requests++
	if len(t.whole) < mostTracked {
		t.whole[stream.HashText(key)] = struct{}{}
		t.without[stream.HashText(t.buffer)] = struct{}{}
		t.counts.Saved = int64(len(t.whole) - len(t.without))
	}
}
