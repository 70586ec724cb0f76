package kv

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/base/testing/processor"
	"github.com/cachesim/cachesim/internal/traces/attention"
)

// made is a trace whose only head is in memory.
type made struct {
	shape *attention.Shape
	head  attention.Head
}

func (m *made) Shape() *attention.Shape { return m.shape }

func (m *made) Next(h *attention.Head) error {
	*h = m.head
	return nil
}

func (m *made) End() error   { return nil }
func (m *made) Close() error { return nil }

// manyRules are as many cells as a comparison of rules has.
const manyRules = "qsac;threshold(tau=0.7);threshold(tau=0.8);adaptive;adaptive(recall=0.5);periodic(n=2);" +
	"periodic(n=4);periodic(n=8);exact;static"

// BenchmarkReplay serves a head of four query heads over 32 K tokens in one cell and in ten: milliseconds of processor
// time per step of the head.
func BenchmarkReplay(b *testing.B) {
	const steps = 200
	columns := columnsOf(b, "attention(layers=1,query-heads=4,kv-heads=1,head-dim=128,context=32768,steps=200,seed=1)")
	m := &made{shape: columns.Shape}
	trace := must.Get(columns.Open(context.Background(), attention.Options{}))(b)
	must.Do(b, trace.Next(&m.head))
	columns.Open = func(context.Context, attention.Options) (attention.Trace, error) { return m, nil }
	for _, rules := range []string{"qsac", manyRules} {
		var cells []Cell
		for _, rule := range strings.Split(rules, ";") {
			cells = append(cells, cellOf(b, nil, 0.1, rule))
		}
		name := "cells=1"
		if len(cells) > 1 {
			name = "cells=10"
		}
		b.Run(name, func(b *testing.B) {
			var spent time.Duration
			for b.Loop() {
				before := processor.Time()
				must.Get(Replay(context.Background(), Config{Trace: columns, Cells: cells, Jobs: 1}))(b)
				spent += processor.Time() - before
			}
			b.ReportMetric(spent.Seconds()*1e3/float64(b.N*steps), "cpu-ms/step")
		})
	}
}
