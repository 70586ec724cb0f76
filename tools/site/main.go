// Command site prepares what `make site` builds: the pages of docs and the README, with their links turned to where
// they lead on the site, a page for each policy, and the configuration that names them all. It writes nothing into the
// repository, and the same commit gives the same bytes.
package main

import (
	"context"
	"flag"
	"log"
	"os"
	"os/signal"
	"path/filepath"
)

func main() {
	log.SetFlags(0)
	root := flag.String("dir", ".", "folder of the repository")
	program := flag.String("program", "bin/cachesim", "the program, whose policies get pages")
	out := flag.String("o", "", "folder for the pages and mkdocs.yml; it is emptied first")
	flag.Parse()
	if *out == "" || flag.NArg() > 0 {
		log.Fatal("site: -o is needed, and nothing but flags")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := write(ctx, *root, *program, *out); err != nil {
		log.Fatal("site: ", err)
	}
}

func write(ctx context.Context, root, program, out string) error {
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	docs := filepath.Join(out, "docs")
	staged, err := stage(root, docs)
	if err != nil {
		return err
	}
	all, err := readPolicies(ctx, root, program)
	if err != nil {
		return err
	}
	if err := writePolicies(ctx, all, filepath.Join(docs, policyFolder)); err != nil {
		return err
	}
	return configure(root, out, staged, all)
}
