package main

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/cachesim/cachesim/internal/experiment/cluster"
	"github.com/cachesim/cachesim/internal/workload"
)

func (f *submitFlags) writeManifest(cmd *cobra.Command, s *unfinished, job cluster.Job) error {
	k := cluster.Kubernetes{Image: f.image, Program: f.program, Retries: f.retries}
	if k.Program == "" {
		k.Program = "cachesim"
	}
	var err error
	if k.Dir, err = volume("dir-volume", f.dirVolume); err != nil {
		return err
	}
	if k.Traces, err = volume("traces-volume", f.tracesVolume); err != nil {
		return err
	}
	if err := s.checkTraces(f.tracesVolume); err != nil {
		return err
	}
	manifest, err := k.Manifest(job)
	if err != nil {
		return err
	}
	path, err := f.write(cmd, s.Dir, "job.yaml", string(manifest))
	if err != nil || path == "" {
		return err
	}
	out := cmd.OutOrStdout()
	fmt.Fprintf(out, "%s: a job of %s; %d of %d cells are left to run\n", path, shardCount(job.Shards), len(s.missing),
		s.cells())
	fmt.Fprintf(out, "start it:  kubectl create -f %s\n", path)
	fmt.Fprintf(out, "wait:      kubectl wait --for=condition=complete --timeout=-1s job/%s\n",
		cluster.KubernetesName(job))
	fmt.Fprintf(out, "collect:   cachesim sweep merge %s\n", s.Dir)
	return nil
}

func volume(flag, text string) (cluster.Volume, error) {
	if text == "" {
		return cluster.Volume{}, nil
	}
	v, err := cluster.ParseVolume(text)
	if err != nil {
		return v, fmt.Errorf("--%s: %w", flag, err)
	}
	return v, nil
}

// checkTraces reports traces that a pod cannot find: it looks for them by their relative path in the volume.
func (s *unfinished) checkTraces(tracesVolume string) error {
	for _, c := range s.missing {
		for _, file := range c.Workload.Paths() {
			if tracesVolume == "" {
				return fmt.Errorf(
					"the sweep replays %s: say with --traces-volume pvc:CLAIM/FOLDER or host:/PATH where pods find it",
					file,
				)
			}
			if filepath.IsAbs(file) {
				return fmt.Errorf("%s: pods look for traces in --traces-volume; write its path relative to that in the "+
					"experiment, name the folder in %s here, and plan again", file, workload.Env)
			}
		}
	}
	return nil
}
