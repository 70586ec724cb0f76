//go:build race

package scripts_test

func init() { flags = append(flags, "-race") }
