package embed

import (
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"strconv"
	"strings"
	"testing"
)

func TestKeysAreHidden(t *testing.T) {
	const key = `sk-proj/7Qx+"Zw9_ab=`
	in := func(encode func([]byte) string, text string) string { return encode([]byte(text)) }
	for name, text := range map[string]string{
		"plain":           "wrong key " + key + ", sorry",
		"twice":           key + key,
		"line break":      "wrong key " + key[:9] + "\n" + key[9:],
		"spaces":          "wrong key " + strings.Join(strings.Split(key, ""), " "),
		"quoted":          strconv.Quote("wrong key " + key[:9] + "\r\n\t" + key[9:]),
		"URL":             "https://elsewhere/?key=" + url.QueryEscape(key),
		"escaped twice":   url.QueryEscape(url.QueryEscape(key)),
		"all of the URL":  "%73%6b%2d%70%72%6f%6a%2f%37%51%78%2b%22%5a%77%39%5f%61%62%3d",
		"JSON":            `\u0073\u006b-proj/7Qx+\"Zw9_ab=`,
		"HTML":            "sk-proj/7Qx&#43;&quot;Zw9_ab=",
		"base64":          in(base64.StdEncoding.EncodeToString, key),
		"base64 of URLs":  in(base64.URLEncoding.EncodeToString, key),
		"base64 with one": in(base64.StdEncoding.EncodeToString, "Bearer "+key+" was sent"),
		"base64 with two": in(base64.StdEncoding.EncodeToString, "me:xx:yy"+key+"!"),
		"a style within":  key[:9] + "\x1b[0m" + key[9:],
		"in capitals":     strings.ToUpper(key),
		"most of it":      "key ending in " + key[len(key)-12:],
		"hexadecimal":     in(hex.EncodeToString, key),
		"HEXADECIMAL":     strings.ToUpper(in(hex.EncodeToString, key)),
	} {
		got := secret(key).hidden(text)
		if !strings.Contains(got, "the key") || strings.Contains(lettersOf(unescaped(got)), "7Qx") || len(got) > 60 {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestWhatIsNoKeyIsShown(t *testing.T) {
	for _, key := range []string{"", "x", "--", "EMPTY", "sk-proj-1234567890"} {
		const text = "model \"m\" not found: 100% (it was there)\nsee https://a.b/c%20d"
		if got := secret(key).hidden(text); got != text && key != "x" {
			t.Errorf("key %q: %q", key, got)
		}
	}
	// Services name a key by its last characters.
	if got := secret("sk-proj-1234567890abcd").hidden("wrong key: sk-***abcd"); got != "wrong key: sk-***abcd" {
		t.Errorf("%q", got)
	}
	if got := secret(
		"secret",
	).hidden("Incorrect API key provided: secret"); got != "Incorrect API key provided: (the key)" {
		t.Errorf("%q", got)
	}
}
