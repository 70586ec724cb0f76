package main

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"sync"
)

const release = "0.1.0"

// commit is set by `make build`.
var commit string

// version names what made a record: the release, and the commit where it is known. It is part of what names the cells
// of a sweep, so that results of another program are not taken for its own.
var version = sync.OnceValue(func() string {
	var settings []debug.BuildSetting
	if info, ok := debug.ReadBuildInfo(); ok {
		settings = info.Settings
	}
	return versionOf(commit, settings, digestOfProgram)
})

const dirty = "-dirty"

// versionOf takes the commit from the settings of the build if it is not given. Changes that are not committed make
// programs that have the same commit and give other results, so that the program is told by its digest then.
func versionOf(commit string, settings []debug.BuildSetting, digest func() string) string {
	if commit == "" {
		commit = stamped(settings)
	}
	if commit == "" {
		return release
	}
	if strings.HasSuffix(commit, dirty) {
		commit += "." + digest()
	}
	return release + "+" + commit
}

// stamped returns the commit that `go build` writes into a program, as `git describe --always --dirty` would write it.
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
