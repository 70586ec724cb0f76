package models

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cachesim/cachesim/internal/base/metric"
	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/suggest"
	"github.com/cachesim/cachesim/internal/clock/event"
	"github.com/cachesim/cachesim/internal/clock/storage"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/files"
	"github.com/cachesim/cachesim/internal/traces/requests"
)

// Ways in which reads arrive.
const (
	arrivalsTrace  = "trace"
	arrivalsClosed = "closed"
)

// Prefetches that find the queue full.
const (
	dropOldest = "oldest"
	dropNewest = "newest"
)

var storageEntry = Entry{
	Name: "storage",
	Summary: "jobs that read files through the cache from a remote store: fetches share a link, prefetches come " +
		"after them; throughput counts reads",
	Source:       "IGTCache (arXiv 2506.12370), section 5.1; constants in docs/models.md",
	Cache:        "exact",
	Asynchronous: true,
	Params: append([]params.Param{
		{Name: "arrivals", Default: arrivalsTrace, Choices: []string{arrivalsTrace, arrivalsClosed},
			Doc: "when a read is issued; trace: at its time in the trace; closed: when the previous read of its job is " +
				"served and the job has computed, for as long as the two are apart in the trace"},
		{Name: "local_ms", Default: 1.0, Min: 0, Max: 1e9, Doc: "time of a read from the cache, in milliseconds"},
		{Name: "delay_ms", Default: 150.0, Min: 0, Max: 1e9, Doc: "time until the remote store answers, in milliseconds"},
		{Name: "bandwidth_mbs", Default: 125.0, Min: 1e-6, Max: 1e9,
			Doc: "bandwidth of the link to the remote store, in 10^6 bytes per second"},
		{Name: "prefetches", Default: 16, Min: 0, Max: 1e6, Doc: "prefetches that may be outstanding"},
		{Name: "queue", Default: 1024, Min: 0, Max: 1e6, Doc: "prefetches that may wait until fewer are outstanding"},
		{Name: "full", Default: dropOldest, Choices: []string{dropOldest, dropNewest},
			Doc: "which prefetch is cancelled if the queue is full; oldest: the one that has waited longest; newest: " +
				"the new one"},
		{Name: "stop", Default: "", Doc: "jobs that are stopped, and after how many seconds: JOB:60 or JOB:60;JOB:90; " +
			"none: all jobs run to their ends"},
	}, storageTierParams()...),
	Metrics: []metric.Metric{
		Jobs, MeanCompletion, CompletionBound, CompletionAggressive, JobCompletion, JobHitRatio, RemoteBytes,
		PrefetchWaste, DelayedHits,
		metric.HitsInFlight, LatePrefetches, CancelledPrefetches, LinkUtilisation, ReadThroughput,
		LoadedBytes, LoadBandwidth, LoadUtilisation,
	},
	Needs: func(v params.Values) traces.Needs { return traces.Needs{Sizes: true, Times: true, Kind: true} },
	Reorders: func(v params.Values) bool {
		return v.Text("arrivals") == arrivalsClosed || v.Text("stop") != ""
	},
	Check: checkStorage,
	Run:   runStorage,
}

// Metrics of jobs that read from a remote store.
var (
	Jobs           = metric.Metric{Name: "jobs", Unit: metric.Count, Merge: metric.Apart, Doc: "jobs that read"}
	MeanCompletion = metric.Metric{Name: "jct_mean_s", Title: "mean job completion time (s)", Unit: metric.Seconds,
		Digits: 2,
		Better: metric.Lower, Merge: metric.Apart, Column: metric.Column{At: 30, Head: "mean JCT s", Weight: 92},
		Figure: metric.Figure{Title: "Mean job completion time", Axis: "mean job completion time (s)"},
		Doc: "mean over the jobs of the time from a job's first read to the end of its last, warm-up included, without " +
			"jobs that were stopped"}
	JobCompletion = metric.Metric{Name: "job_completion_s", Title: "job completion time (s)", Unit: metric.Seconds,
		Digits: 2,
		Better: metric.Lower, Merge: metric.Apart, Labels: "job",
		Doc: "time from a job's first read to the end of its last, in seconds; absent if the job was stopped"}
	JobHitRatio = metric.Metric{Name: "job_hit_ratio", Unit: metric.Share, Digits: 2, Better: metric.Higher,
		Merge: metric.Apart, Labels: "job", Doc: "hits / requests of a job"}
	RemoteBytes = metric.Metric{Name: "remote_bytes", Unit: metric.Bytes, Better: metric.Lower,
		Doc: "bytes that arrived from the remote store"}
	PrefetchWaste = metric.Metric{Name: "prefetch_waste", Unit: metric.Share, Digits: 2, Better: metric.Lower,
		Merge: metric.Apart, Doc: "share of remote_bytes that was prefetched and not requested while it was in the cache"}
	LatePrefetches = metric.Metric{Name: "late_prefetches", Unit: metric.Count,
		Doc: "prefetches that were outstanding when their object was requested; they went on as ordinary fetches"}
	CancelledPrefetches = metric.Metric{Name: "cancelled_prefetches", Unit: metric.Count, Better: metric.Lower,
		Doc: "prefetches that were dropped because too many were waiting"}
	LinkUtilisation = metric.Metric{Name: "link_utilisation", Unit: metric.Share, Digits: 2, Merge: metric.Apart,
		Column: metric.Column{At: 45, Head: "link", Weight: 55},
		Doc:    "share of the time in which the link to the remote store is busy; it then sends at its full bandwidth"}
	ReadThroughput = metric.Metric{Name: "read_throughput_mbs", Title: "read throughput (MB/s)",
		Unit:   metric.MegabytesPerSecond,
		Digits: 2, Better: metric.Higher, Merge: metric.Apart,
		Doc: "size of the reads that were served, from the cache or the remote store, in 10^6 bytes per second"}
)

func checkStorage(v params.Values, t *traces.Trace) error {
	switch {
	case !t.HasSizes():
		return fmt.Errorf("model storage: %s has no sizes, which decide how long a transfer takes; use a trace with sizes",
			t.Name)
	case v.Text("arrivals") == arrivalsTrace && t.Times == nil:
		return fmt.Errorf("model storage: arrivals=trace, but %s has no times; write storage(arrivals=closed)", t.Name)
	case t.SampleRate > 0 && t.SampleRate < 1:
		return fmt.Errorf("model storage: a sample of %v of %s loads the link with only that part of its bytes; use "+
			"--limit instead of --sample", t.SampleRate, t.Name)
	}
	_, err := stopsOf(v, jobsOf(t))
	return err
}

// jobs are the jobs of a trace.
type jobs struct {
	of    []int32 // per read; nil if there is only one
	names []string
	named bool // the trace has jobs
}

// unknownJob is the job of reads whose job is not known.
const unknownJob = "unknown"

// jobsOf returns the jobs of a trace: the jobs of its reads of files, or a single one.
func jobsOf(t *traces.Trace) jobs {
	c := files.Of(t.Kind)
	if c == nil || c.Jobs == nil {
		return jobs{names: []string{"all"}}
	}
	all := jobs{of: c.Jobs, names: c.JobNames, named: true}
	if !slices.Contains(c.Jobs, -1) {
		return all
	}
	unknown := slices.Index(c.JobNames, unknownJob)
	if unknown < 0 {
		unknown = len(c.JobNames)
		all.names = append(slices.Clone(c.JobNames), unknownJob)
	}
	all.of = slices.Clone(c.Jobs)
	for read, job := range all.of {
		if job < 0 {
			all.of[read] = int32(unknown)
		}
	}
	return all
}

// stopsOf returns when each job is stopped.
func stopsOf(v params.Values, all jobs) ([]time.Duration, error) {
	text := v.Text("stop")
	if text == "" {
		return nil, nil
	}
	stops := make([]time.Duration, len(all.names))
	for item := range strings.SplitSeq(text, ";") {
		at := strings.LastIndexByte(item, ':')
		if at < 0 {
			return nil, fmt.Errorf("model storage: stop=%q: want JOB:SECONDS", item)
		}
		job := slices.Index(all.names, strings.TrimSpace(item[:at]))
		if job < 0 {
			return nil, fmt.Errorf("model storage: stop: %w", suggest.Unknown("job", strings.TrimSpace(item[:at]), all.names))
		}
		seconds, err := strconv.ParseFloat(item[at+1:], 64)
		if err != nil || !(seconds > 0 && seconds <= 1e9) {
			return nil, fmt.Errorf("model storage: stop=%q: want a number of seconds above 0, to 10^9", item)
		}
		if stops[job] > 0 {
			return nil, fmt.Errorf("model storage: stop names the job %s twice", all.names[job])
		}
		stops[job] = time.Duration(seconds * 1e9)
	}
	return stops, nil
}

func runStorage(ctx context.Context, c Config) (metric.Values, error) {
	cache, ok := c.Cache.(requests.Asynchronous)
	if !ok {
		return metric.Values{}, fmt.Errorf("model storage: objects cannot arrive later in a cache of type %T", c.Cache)
	}
	all := jobsOf(c.Trace)
	stops, err := stopsOf(c.Params, all)
	if err != nil {
		return metric.Values{}, err
	}
	run := &storageRun{Config: c, jobs: all, listed: listedJobs(c.Trace, all)}
	config := storageConfig(c.Params)
	config.Unit, config.Asked, config.Warmup, config.EndWarmup = c.Unit, c.Asked, c.Warmup, c.EndWarmup
	if err := addTiers(c, &config); err != nil {
		return metric.Values{}, err
	}
	config.Windows = event.Into(c.Windows, run.endWindow)
	reads := readsOf(c.Trace, config.Closed)
	reads.Job, reads.Stops = all.of, stops
	result, err := storage.Run(ctx, reads, cache, config)
	if err != nil {
		return metric.Values{}, fmt.Errorf("model storage: %w", err)
	}
	v := run.values(result)
	addBounds(&v, c, config, reads)
	addLoads(&v, c.Cache, config, result)
	return v, nil
}

// storageConfig returns the constants of the model.
func storageConfig(v params.Values) storage.Config {
	return storage.Config{
		Local:      microseconds(1e3 * v.Float("local_ms")),
		Delay:      microseconds(1e3 * v.Float("delay_ms")),
		Bandwidth:  1e6 * v.Float("bandwidth_mbs"),
		Prefetches: v.Int("prefetches"),
		Queue:      v.Int("queue"),
		DropOldest: v.Text("full") == dropOldest,
		Closed:     v.Text("arrivals") == arrivalsClosed,
	}
}

// readsOf returns the reads of a trace: requests that come together, or each request.
func readsOf(t *traces.Trace, closed bool) storage.Reads {
	r := storage.Reads{Objects: t.Objects, Size: t.Size, Write: t.IsWrite, ObjectSizes: t.ObjectSizes, Starts: t.Groups}
	if r.Starts == nil {
		r.Starts = make([]int, len(t.Objects))
		for i := range r.Starts {
			r.Starts[i] = i
		}
	}
	if t.Times == nil {
		return r
	}
	r.Start = t.Times[0]
	start := slices.Min(t.Times)
	r.Times = make([]time.Duration, len(r.Starts))
	// In a closed loop only the gaps within a job count, so the times of different jobs need no common order.
	latest := time.Duration(0)
	for read, first := range r.Starts {
		r.Times[read] = time.Duration(t.Times[first] - start)
		if latest = max(latest, r.Times[read]); !closed {
			r.Times[read] = latest // a time that goes back counts as the previous one
		}
	}
	return r
}

// mostJobsListed is the number of jobs that a record lists one by one.
const mostJobsListed = 20

// listedJobs returns the jobs with the most reads, in their order; none if the trace has no jobs.
func listedJobs(t *traces.Trace, all jobs) []int32 {
	if !all.named {
		return nil
	}
	reads := make([]int, len(all.names))
	for _, job := range all.of {
		reads[job]++
	}
	var listed []int32
	for job, n := range reads {
		if n > 0 {
			listed = append(listed, int32(job))
		}
	}
	slices.SortStableFunc(listed, func(a, b int32) int { return cmp.Compare(reads[b], reads[a]) })
	listed = listed[:min(len(listed), mostJobsListed)]
	slices.Sort(listed)
	return listed
}

// storageRun turns what a run measures into metrics.
type storageRun struct {
	Config
	jobs   jobs
	listed []int32
	before storage.State // at the end of the last window
	was    []storage.Job // per listed job, then
	served int64         // bytes of all jobs, then
}

// endWindow reports what happened in a window.
func (r *storageRun) endWindow(s storage.State) error {
	if r.was == nil {
		r.was = make([]storage.Job, len(r.listed))
	}
	w := Window{Asked: s.Asked, Ends: s.Ends}
	seconds := (s.Now - r.before.Now).Seconds()
	if seconds > 0 {
		w.Add(LinkUtilisation, "", (s.Demand+s.Prefetch-r.before.Demand-r.before.Prefetch)/seconds)
		served := int64(0)
		for job := range r.jobs.names {
			served += s.Job(int32(job)).Served
		}
		w.Add(ReadThroughput, "", float64(served-r.served)/1e6/seconds)
		r.served = served
	}
	for i, job := range r.listed {
		now, name := s.Job(job), r.jobs.names[job]
		if requests := now.Requests - r.was[i].Requests; requests > 0 {
			w.Add(JobHitRatio, name, float64(now.Hits-r.was[i].Hits)/float64(requests))
		}
		if seconds > 0 {
			w.Add(ReadThroughput, name, float64(now.Served-r.was[i].Served)/1e6/seconds)
		}
		r.was[i] = now
	}
	r.before = s
	return r.Windows.End(w)
}

// values returns the metrics of a run.
func (r *storageRun) values(result *storage.Result) (v metric.Values) {
	times := func(read storage.Read) waited { return waited{read.Asked, read.Done, read.Done} }
	if r.Timed != nil {
		timed := make([]Timed, len(result.Reads))
		for i, read := range result.Reads {
			timed[i] = Timed{First: int(read.First), Latency: read.Done - read.Asked}
		}
		r.Timed(timed)
	}
	first := slices.IndexFunc(result.Reads, func(read storage.Read) bool { return read.Counts })
	if first >= 0 {
		counted := result.Reads[first:]
		v = newLatency(counted, len(counted), times).Values()
	}
	completed, sum := 0, 0.0
	started := 0
	for _, j := range result.Jobs {
		if j.Reads == 0 {
			continue
		}
		started++
		if !j.Stopped {
			completed++
			sum += j.Duration().Seconds()
		}
	}
	v.SetInt(Jobs, int64(started))
	v.SetQuotient(MeanCompletion, sum, float64(completed))
	for _, job := range r.listed {
		j, label := result.Jobs[job], r.jobs.names[job]
		if !j.Stopped {
			v.SetNamed(JobCompletion.Of(label), j.Duration().Seconds())
		}
		if j.Requests > 0 {
			v.SetNamed(JobHitRatio.Of(label), float64(j.Hits)/float64(j.Requests))
		}
	}
	v.SetInt(RemoteBytes, result.Fetched)
	if result.Prefetched > 0 {
		v.Set(PrefetchWaste, math.Max(0, float64(result.Prefetched-result.Useful))/float64(result.Fetched))
	}
	v.SetInt(DelayedHits, result.Delayed)
	v.SetInt(LatePrefetches, result.Late)
	v.SetInt(CancelledPrefetches, result.Cancelled)
	v.SetQuotient(LinkUtilisation, result.LinkSeconds, result.Seconds)
	v.SetQuotient(ReadThroughput, float64(result.Served)/1e6, result.Seconds)
	return v
}
