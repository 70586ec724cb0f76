// Package version knows the version of this program: its release, its commit, and whether it was built with changes
// that are not committed. Commands write it into what they make.
package version

import "sync"

// Release is the version of the last release, or of the next one until there is one.
const Release = "0.1.0"

// commit is set by `make build` to the output of `git describe`: the tag of a release (v0.2.0), the tag with the
// commits after it, or the commit alone.
var commit string

// Program names what made a record: the release, and the commit where it is known. It is part of what names the cells
// of a sweep, so that results of another program are not taken for its own.
var Program = sync.OnceValue(func() string { return of(Release, commit) })
