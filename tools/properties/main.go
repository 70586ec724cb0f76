// Command properties prints the arguments for go test to run all tests that draw cases with package rapid, and no
// others: -run with their names, and their packages.
package main

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"log"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	log.SetFlags(0)
	root := flag.String("root", "..", "folder of the repository")
	flag.Parse()
	names, folders, err := find(*root)
	if err != nil {
		log.Fatal("properties: ", err)
	}
	fmt.Printf("-run ^(%s)$ %s\n", strings.Join(names, "|"), strings.Join(folders, " "))
}

// function is what a function refers to. Functions are known by package and name, "oracle.TestRanks", and methods by
// their name alone.
type function struct {
	folder string
	draws  bool
	refers []string
}

// find returns the names of the tests from which a call of rapid.Check can be reached, and their folders.
func find(root string) (names, folders []string, err error) {
	functions := map[string][]*function{}
	for _, top := range []string{"cmd", "configs", "internal"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(file string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(file, ".go") {
				return err
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			folder, err := filepath.Rel(root, filepath.Dir(file))
			for _, decl := range parsed.Decls {
				if f, ok := decl.(*ast.FuncDecl); ok && f.Body != nil {
					own := strings.TrimSuffix(parsed.Name.Name, "_test") + "."
					key := own + f.Name.Name
					functions[key] = append(functions[key], inspect(f, own, "./"+filepath.ToSlash(folder)))
				}
			}
			return err
		})
		if err != nil {
			return nil, nil, err
		}
	}
	for changed := true; changed; {
		changed = false
		for _, all := range functions {
			for _, f := range all {
				if !f.draws && slices.ContainsFunc(f.refers, func(to string) bool { return draws(functions[to]) }) {
					f.draws, changed = true, true
				}
			}
		}
	}
	found, in := map[string]bool{}, map[string]bool{}
	for key, all := range functions {
		if _, name, _ := strings.Cut(key, "."); strings.HasPrefix(name, "Test") {
			for _, f := range all {
				if f.draws {
					found[name], in[f.folder] = true, true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(found)), slices.Sorted(maps.Keys(in)), nil
}

func draws(all []*function) bool {
	return slices.ContainsFunc(all, func(f *function) bool { return f.draws })
}

// inspect returns what a function of a package refers to: names of the package, and those of others.
func inspect(decl *ast.FuncDecl, own, folder string) *function {
	f := &function{folder: folder}
	ast.Inspect(decl.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok {
				f.draws = f.draws || x.Name == "rapid" && (n.Sel.Name == "Check" || n.Sel.Name == "MakeCheck")
				f.refers = append(f.refers, x.Name+"."+n.Sel.Name)
			}
			f.refers = append(f.refers, own+n.Sel.Name) // a method
		case *ast.Ident:
			f.refers = append(f.refers, own+n.Name)
		}
		return true
	})
	return f
}
