// Package agentlogs reads prompts from what agents and their instrumentation keep: the sessions of Claude Code and of
// Codex, traces of sessions with the ids of their blocks, and OpenTelemetry's spans.
package agentlogs

import "github.com/cachesim/cachesim/internal/traces/source"

// Formats are the formats of this package.
var Formats = []source.Format{agentFormat, dynamoFormat, lmcacheFormat, claudeCodeFormat, codexFormat, spansFormat}
