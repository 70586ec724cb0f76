package version

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"runtime/debug"
	"strings"
)

// of returns the version of this program. commit is the output of `git describe` at build time; if it is empty, the
// commit that the Go tool wrote into the program counts.
func of(release, commit string) string {
	var info debug.BuildInfo
	if read, ok := debug.ReadBuildInfo(); ok {
		info = *read
	}
	return versionOf(release, commit, info, digestOfProgram)
}

const dirty = "-dirty"

// versionOf takes the commit from the build settings if it is not given. With uncommitted changes, different programs
// have the same commit, so the version then includes the digest of the program.
//
// `go install` of a tagged version knows no commit: there the version of the module is the release.
func versionOf(release, commit string, info debug.BuildInfo, digest func() string) string {
	if commit == "" {
		commit = stamped(info.Settings)
	}
	if commit == "" && isTag(info.Main.Version) {
		commit = info.Main.Version
	}
	if commit == "" {
		return release
	}
	if strings.HasSuffix(commit, dirty) {
		commit += "." + digest()
	}
	if isTag(commit) {
		return strings.TrimPrefix(commit, "v")
	}
	return release + "+" + commit
}

// isTag reports whether text begins like the tag of a release: v and a digit.
func isTag(text string) bool {
	return len(text) > 1 && text[0] == 'v' && '0' <= text[1] && text[1] <= '9'
}

// stamped returns the commit that `go build` writes into a program, in the form of `git describe --always --dirty`.
func stamped(settings []debug.BuildSetting) (commit string) {
	const length = 7
	suffix := ""
	for _, s := range settings {
		switch {
		case s.Key == "vcs.revision":
			commit = s.Value[:min(length, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			suffix = dirty
		}
	}
	if commit == "" {
		return ""
	}
	return commit + suffix
}

// digestOfProgram returns the beginning of the checksum of the program's file.
func digestOfProgram() string {
	const length, unknown = 4, "unknown"
	path, err := os.Executable()
	if err != nil {
		return unknown
	}
	f, err := os.Open(path)
	if err != nil {
		return unknown
	}
	defer f.Close()
	digest := sha256.New()
	if _, err := io.Copy(digest, f); err != nil {
		return unknown
	}
	return hex.EncodeToString(digest.Sum(nil)[:length])
}
