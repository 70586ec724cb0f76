package cluster

import (
	"context"
	"fmt"
	"io"
	"path/filepath"

	"github.com/cachesim/cachesim/internal/traces/workload"
)

// writeManifest writes the manifest of the job and says how to start it.
func (o Submission) writeManifest(ctx context.Context, out io.Writer, s *unfinished, job Job) error {
	k := Kubernetes{Image: o.Image, Program: o.Program, Retries: o.Retries}
	if k.Program == "" {
		k.Program = "cachesim"
	}
	var err error
	if k.Dir, err = parseVolume("dir-volume", o.DirVolume); err != nil {
		return err
	}
	if k.Traces, err = parseVolume("traces-volume", o.TracesVolume); err != nil {
		return err
	}
	if err := s.checkTraces(o.TracesVolume); err != nil {
		return err
	}
	manifest, err := k.Manifest(job)
	if err != nil {
		return err
	}
	path, err := o.write(ctx, out, s.Dir, "job.yaml", string(manifest))
	if err != nil || path == "" {
		return err
	}
	fmt.Fprintf(out, "%s: a job of %s; %d of %d cells are left to run\n", path, shardCount(job.Shards), len(s.missing),
		s.cells())
	fmt.Fprintf(out, "start it:  kubectl create -f %s\n", path)
	fmt.Fprintf(out, "wait:      kubectl wait --for=condition=complete --timeout=-1s job/%s\n",
		KubernetesName(job))
	fmt.Fprintf(out, "collect:   cachesim sweep merge %s\n", s.Dir)
	return nil
}

// parseVolume parses the volume of a flag; an empty one is the zero Volume.
func parseVolume(flag, text string) (Volume, error) {
	if text == "" {
		return Volume{}, nil
	}
	v, err := ParseVolume(text)
	if err != nil {
		return v, fmt.Errorf("--%s: %w", flag, err)
	}
	return v, nil
}

// checkTraces reports traces that a pod cannot find: it searches for them by their relative path in the volume.
func (s *unfinished) checkTraces(tracesVolume string) error {
	for _, c := range s.missing {
		for _, file := range c.Workload.Paths() {
			if tracesVolume == "" {
				return fmt.Errorf("the sweep replays %s: give --traces-volume pvc:CLAIM/FOLDER or host:/PATH, where pods find "+
					"the trace", file)
			}
			if filepath.IsAbs(file) {
				return fmt.Errorf("%s: pods read traces from --traces-volume; write the path relative to it in the experiment, "+
					"name the folder in %s here, and plan again", file, workload.Env)
			}
		}
	}
	return nil
}
