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

// version identifies the program that made a record: the release, and the commit if it is known. It is part of the
// identity of a sweep's cells, so that the results of another program are not reused.
var version = sync.OnceValue(func() string {
	var settings []debug.BuildSetting
	if info, ok := debug.ReadBuildInfo(); ok {
		settings = info.Settings
	}
	return versionOf(commit, settings, digestOfProgram)
})

const dirty = "-dirty"

// versionOf takes the commit from the build settings if it is not given. With uncommitted changes, different programs
// have the same commit, so the version then includes the digest of the program.
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
