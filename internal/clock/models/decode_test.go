package models_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/clock/decode"
	"github.com/cachesim/cachesim/internal/clock/models"
)

// decoded is a replay of two layers of two heads in ten steps, one in four of which loads a set, or a few blocks.
func decoded(management decode.Management) *models.Decoded {
	d := &models.Decoded{Management: management, Replay: decode.Replay{Layers: 2, Heads: 2, Steps: 10, Prompt: 1000,
		Always: 68, Generated: true, Share: 0.3}}
	for i := range d.Layers * d.Steps {
		n := decode.Counts{Heads: 2, Retrievals: 2, Wanted: 186}
		if management == decode.Whole {
			n = decode.Counts{Whole: 2}
		}
		if i%4 == 0 {
			n.Loaded = n.Wanted
		}
		if management == decode.Blocks {
			n.Loaded, n.Lookups, n.Updates = n.Loaded/8, n.Wanted/8, n.Wanted/8
		}
		d.Counts = append(d.Counts, n)
	}
	return d
}

// decodeWith returns the metrics of a replay with parameters of the model.
func decodeWith(t *testing.T, management decode.Management, parameters string) metric.Values {
	t.Helper()
	if !strings.Contains(parameters, "model=") {
		parameters = "model=llama3-8b," + parameters
	}
	spec := must.Get(models.Registry.Parse("decode(" + parameters + ")"))(t)
	return must.Get(spec.Entry.Run(t.Context(), models.Config{Cache: decoded(management), Params: spec.Params}))(t)
}

// TestDecodeUsesAllParameters expects every parameter to change a metric under some management.
func TestDecodeUsesAllParameters(t *testing.T) {
	other := map[string]string{"model": "qwen2.5-14b", "gpu": "a40", "tokens": "50000", "batch": "7", "ahead": "off",
		"graph": "off", "metadata_bytes": "100", "layers": "5", "query_heads": "64", "kv_heads": "16", "head_dim": "64",
		"hidden": "1024", "ffn": "1000", "vocabulary": "1000", "hbm_gbs": "100", "peak_tflops": "0.1", "memory_gib": "60",
		"pcie_gbs": "1", "threads": "1", "launch_us": "900", "kernel_us": "90", "lookup_us": "700", "update_us": "900",
		"block_ns": "5000"}
	entry, _ := models.Registry.Find("decode")
	for _, p := range entry.Params {
		value, known := other[p.Name]
		if !known {
			t.Errorf("no other value of %s is tried", p.Name)
			continue
		}
		const base = "tokens=9000"
		parameters := base + "," + p.Name + "=" + value
		if p.Name == "tokens" {
			parameters = "tokens=" + value
		}
		changes := false
		for _, management := range []decode.Management{decode.Whole, decode.Sets, decode.Predicted, decode.Blocks} {
			changes = changes || !reflect.DeepEqual(decodeWith(t, management, base), decodeWith(t, management, parameters))
		}
		if !changes {
			t.Errorf("%s=%s changes nothing", p.Name, value)
		}
	}
}

// TestDecodeSums expects parts to add up to the time of a layer, layers to that of a step, and steps to throughput.
func TestDecodeSums(t *testing.T) {
	const batch = 4
	for _, management := range []decode.Management{decode.Whole, decode.Sets, decode.Predicted, decode.Blocks} {
		v := decodeWith(t, management, fmt.Sprintf("tokens=30000,layers=2,vocabulary=1,batch=%d", batch))
		sum, shares := 0.0, 0.0
		for p := range decode.Parts {
			part, _ := v.Get(models.LayerPart.Of(p.String()))
			share, _ := v.Get(models.CachePart.Of(p.String()))
			sum, shares = sum+part, shares+share
		}
		layer, step := v.Float(models.LayerTime), v.Float(models.LatencyMean)
		if !near(sum, layer) || !near(2*layer, step) || !near(v.Float(models.Throughput), batch/(step/1e3)) {
			t.Errorf("management %d: parts sum to %v ms, a layer takes %v, a step of two %v, throughput is %v", management,
				sum, layer, step, v.Float(models.Throughput))
		}
		if cached := management != decode.Whole; cached && !near(shares, 1) || !cached && shares != 0 {
			t.Errorf("management %d: shares of the cache's time sum to %v", management, shares)
		}
	}
}

// near allows for times in whole nanoseconds.
func near(x, y float64) bool { return x > 0 && x/y > 1-1e-4 && x/y < 1+1e-4 }

// TestDecodeOutOfMemory expects no times where the GPU lacks memory, and the batch that is said to fit to fit.
func TestDecodeOutOfMemory(t *testing.T) {
	const context = "tokens=100000,batch="
	v := decodeWith(t, decode.Whole, context+"1")
	largest := v.Int(models.LargestBatch)
	if largest < 2 || !v.Has(models.LatencyMean) {
		t.Fatalf("%d sequences fit", largest)
	}
	for batch, fits := range map[int64]bool{largest: true, largest + 1: false} {
		v := decodeWith(t, decode.Whole, fmt.Sprint(context, batch))
		if v.Has(models.LatencyMean) != fits || v.Has(models.Throughput) != fits || v.Int(models.LargestBatch) != largest {
			t.Errorf("%d of %d sequences: there are times: %v, and %d are said to fit", batch, largest,
				v.Has(models.LatencyMean), v.Int(models.LargestBatch))
		}
	}
	if v := decodeWith(t, decode.Sets, "memory_gib=1"); v.Int(models.LargestBatch) != 0 || v.Has(models.LayerTime) {
		t.Errorf("weights do not fit, and %d sequences do", v.Int(models.LargestBatch))
	}
}

// TestDecodeByManagement expects graphs and loading ahead where LiteCache has them.
func TestDecodeByManagement(t *testing.T) {
	for management, want := range map[decode.Management][2]string{decode.Whole: {"off", "on"}, decode.Sets: {"on", "on"},
		decode.Predicted: {"on", "off"}, decode.Blocks: {"off", "off"}} {
		explicit := fmt.Sprintf("tokens=9000,ahead=%s,graph=%s", want[0], want[1])
		if got, want := decodeWith(t, management, "tokens=9000"), decodeWith(t, management, explicit); !reflect.DeepEqual(got,
			want) {
			t.Errorf("management %d: %v, and with %s %v", management, got, explicit, want)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	for parameters, want := range map[string]string{"tokens=9": "which language model?",
		"model=llama3-8b,query_heads=9":               "9 query heads on 8 KV heads",
		"model=llama3-8b,tokens=68":                   "68 first and recent tokens",
		"model=llama3-8b,pcie_gbs=1e-300,tokens=9000": "want faster hardware",
		"model=llama3-8b,layers=1":                    "layers=1, but the trace has 2"} {
		spec := must.Get(models.Registry.Parse("decode(" + parameters + ")"))(t)
		err := spec.Entry.Check(spec.Params, nil)
		if err == nil {
			_, err = spec.Entry.Run(t.Context(), models.Config{Cache: decoded(decode.Sets), Params: spec.Params})
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", parameters, err, want)
		}
	}
}
