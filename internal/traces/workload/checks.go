package workload

import (
	"fmt"

	"github.com/cachesim/cachesim/internal/traces/prompts"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/read/formats"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// Check refuses values of w that cannot be read, without opening a file.
func (w Workload) Check() error {
	if w.Tenants != "" {
		if _, err := read.ParseTenants(w.Tenants); err != nil {
			return fmt.Errorf("tenants: %w", err)
		}
	}
	if w.Writes != "" {
		if _, err := stream.ParseWrites(w.Writes); err != nil {
			return fmt.Errorf("writes: %w", err)
		}
	}
	if err := read.CheckSizes(w.ObjectSizes, w.ObjectOverhead); err != nil {
		return err
	}
	if err := CheckKV(w.KV); err != nil {
		return fmt.Errorf("kv: %w", err)
	}
	if err := prompts.CheckAnswers(w.Answers); err != nil {
		return fmt.Errorf("answers: %w", err)
	}
	if err := w.CheckEmbeddings(); err != nil {
		return fmt.Errorf("embeddings %s: %w", w.Embeddings, err)
	}
	return formats.Check(w.Format)
}

// FixesSeed reports whether a seed for the format would change nothing.
func (w Workload) FixesSeed() bool { return formats.FixesSeed(w.Format) }

// Seeded returns w with this seed for its format, unless the format has its own or makes no random choice.
func (w Workload) Seeded(seed uint64) Workload {
	w.Format = formats.Seeded(w.Format, seed)
	return w
}
