// Command make writes a small log of each kind into a folder.
package main

import (
	"log"
	"os"

	"github.com/cachesim/cachesim/testdata/logs"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: go run ./testdata/logs/make DIR")
	}
	if err := logs.Write(os.Args[1]); err != nil {
		log.Fatal(err)
	}
}
