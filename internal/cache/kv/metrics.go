package kv

import "github.com/cachesim/cachesim/internal/base/metric"

// What a cell measures beside requests and hits. These are lookups: of heads that are not on the GPU as a whole, of
// blocks in stores, or of tokens under PQCache. Rows are keys and values: a token has two of each head.
var (
	hitRatioAll = metric.Metric{Name: "hit_ratio_all", Title: "hit ratio of all heads", Unit: metric.Share, Digits: 2,
		Better: metric.Higher, Merge: metric.Apart,
		Doc: "share of the lookups that hit if heads on the GPU as a whole count as hits"}
	loaded = metric.Metric{Name: "rows_loaded", Unit: metric.Count, Better: metric.Lower,
		Doc: "rows of keys and values that were loaded, whole sets or blocks at a time"}
	loadedNew = metric.Metric{Name: "rows_new", Unit: metric.Count, Better: metric.Lower,
		Doc: "rows that had to be loaded if a set is compared with the one it replaces"}
	loadedBytes = metric.Metric{Name: "bytes_loaded", Unit: metric.Bytes, Better: metric.Lower,
		Doc: "bytes of the loaded rows, whose numbers have 16 bits"}
	loadedPerSet = metric.Metric{Name: "loaded_per_set", Title: "loaded, in sets", Unit: metric.Ratio, Digits: 3,
		Better: metric.Lower, Merge: metric.Apart,
		Doc:    "loaded rows of a head and step over those of a whole set; 1 loads every set anew",
		Column: metric.Column{At: 40, Head: "rows/k", Weight: 60},
		Figure: metric.Figure{Title: "Rows loaded", Axis: "rows loaded per step (sets)"}}
	newPerSet = metric.Metric{Name: "new_per_set", Title: "new rows, in sets", Unit: metric.Ratio, Digits: 3,
		Better: metric.Lower, Merge: metric.Apart, Doc: "the same for the rows that a set lacked before",
		Column: metric.Column{At: 40, Head: "new/k", Weight: 40}}
	missedPerSet = metric.Metric{Name: "missed_per_set", Title: "missed tokens, in sets", Unit: metric.Ratio, Digits: 3,
		Better: metric.Lower, Merge: metric.Apart,
		Doc:    "under pqcache, the same for tokens that a step lacks, without the blocks that are kept for later steps",
		Column: metric.Column{At: 40, Head: "missed/k", Weight: 40}}
	recall = metric.Metric{Name: "recall", Unit: metric.Share, Digits: 1, Better: metric.Higher, Merge: metric.Apart,
		Doc: "share of the exact set of a step that the head has: the tokens of most probability, summed over its " +
			"queries",
		Column: metric.Column{At: 40, Weight: 55},
		Figure: metric.Figure{Title: "Recall of sets", Axis: "share of the exact set that is there"}}
	mass = metric.Metric{Name: "attention_mass", Title: "attention mass", Unit: metric.Share, Digits: 1,
		Better: metric.Higher, Merge: metric.Apart,
		Doc:    "probability of all visible tokens, mean over steps and heads",
		Column: metric.Column{At: 40, Head: "mass", Weight: 50}}
	lostMass = metric.Metric{Name: "lost_mass", Title: "lost attention mass", Unit: metric.Share, Digits: 2,
		Better: metric.Lower, Merge: metric.Apart, Doc: "probability that the exact set of each step has more",
		Column: metric.Column{At: 40, Head: "lost", Weight: 58},
		Figure: metric.Figure{Title: "Attention mass lost", Axis: "attention mass lost (%)"}}
	lostByEffect = metric.Metric{Name: "lost_mass_by_effect", Title: "lost attention mass, by effect", Unit: metric.Share,
		Digits: 2, Better: metric.Lower, Merge: metric.Apart,
		Doc:    "lost mass of heads, weighted by their importance, as the file states it; absent without a file",
		Column: metric.Column{At: 40, Head: "by effect", Weight: 45}}
	middleMass = metric.Metric{Name: "middle_mass", Title: "mass of the middle", Unit: metric.Share, Digits: 1,
		Better: metric.Higher, Merge: metric.Apart,
		Doc: "probability of the visible tokens that are neither sink nor always visible, over that of the exact sets"}
	outputError = metric.Metric{Name: "output_error", Unit: metric.Share, Digits: 1, Better: metric.Lower,
		Merge: metric.Apart, Doc: "distance of a query head's output from that of full attention, over its norm",
		Column: metric.Column{At: 40, Head: "error", Weight: 57},
		Figure: metric.Figure{Title: "Error of outputs", Axis: "output error (%)"}}
	outputErrorTail = metric.Metric{Name: "output_error_p95", Title: "output error, P95", Unit: metric.Share, Digits: 1,
		Better: metric.Lower, Merge: metric.Apart,
		Doc: "the output error that 95% of the outputs do not exceed, to 2% of its value"}
	outputErrorByEffect = metric.Metric{Name: "output_error_by_effect", Title: "output error, by effect",
		Unit: metric.Share, Digits: 1, Better: metric.Lower, Merge: metric.Apart,
		Doc: "mean output error of heads, weighted by their importance, as the file states it; absent without a file"}
	gpuBytes = metric.Metric{Name: "gpu_bytes", Title: "GPU memory", Unit: metric.Bytes, Better: metric.Lower,
		Merge:  metric.Apart,
		Doc:    "memory of keys, values and labels on the GPU in the last step, of 16-bit numbers: the sum of what follows",
		Column: metric.Column{At: 40, Head: "GPU memory", Weight: 35}}
	gpuSets = metric.Metric{Name: "gpu_bytes_sets", Title: "GPU memory of sets", Unit: metric.Bytes, Merge: metric.Apart,
		Doc: "of it for sets, or stores of blocks"}
	gpuLabels = metric.Metric{Name: "gpu_bytes_labels", Title: "GPU memory of labels", Unit: metric.Bytes,
		Merge: metric.Apart, Doc: "of it for the queries for which sets were loaded"}
	gpuVisible = metric.Metric{Name: "gpu_bytes_visible", Title: "GPU memory of sink and recent tokens",
		Unit: metric.Bytes, Merge: metric.Apart,
		Doc: "of it for tokens that are always visible: the first and the recent ones, and generated ones"}
	gpuWhole = metric.Metric{Name: "gpu_bytes_whole", Title: "GPU memory of whole heads", Unit: metric.Bytes,
		Merge: metric.Apart, Doc: "of it for heads all of whose rows are on the GPU"}
)

var metrics = append([]metric.Metric{hitRatioAll, loaded, loadedNew, loadedBytes, loadedPerSet, newPerSet, missedPerSet,
	recall, mass,
	lostMass, lostByEffect, middleMass, outputError, outputErrorTail, outputErrorByEffect, gpuBytes, gpuSets, gpuLabels,
	gpuVisible, gpuWhole}, comparisonMetrics...)
