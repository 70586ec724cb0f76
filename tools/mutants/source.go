package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// pack is a package as `go list` describes it.
type pack struct {
	Dir, ImportPath                    string
	GoFiles, TestGoFiles, XTestGoFiles []string
}

func (p pack) tested() bool { return len(p.TestGoFiles)+len(p.XTestGoFiles) > 0 }

// list returns the packages of patterns, none if there are no patterns.
func list(ctx context.Context, patterns []string) (packages []pack, err error) {
	if len(patterns) == 0 {
		return nil, nil
	}
	out, err := output(exec.CommandContext(ctx, "go", append([]string{"list", "-json"}, patterns...)...))
	if err != nil {
		return nil, err
	}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pack
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return packages, nil
		} else if err != nil {
			return nil, err
		}
		packages = append(packages, p)
	}
}

// output runs a command; its error has what the command printed.
func output(c *exec.Cmd) ([]byte, error) {
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("%w\n%s%s", err, out, &stderr)
	}
	return out, nil
}

// mutant is a changed piece of a file.
type mutant struct {
	pack       string
	file       string // with its folder
	source     []byte
	start, end int    // what is replaced, in bytes
	text       string // by what
	line, col  int
}

// String returns the place, the change and the line.
func (m mutant) String() string {
	first := bytes.LastIndexByte(m.source[:m.start], '\n') + 1
	line, _, _ := bytes.Cut(m.source[first:], []byte("\n"))
	return fmt.Sprintf("%s:%d:%d: %q to %q in %s", shown(m.file), m.line, m.col, m.source[m.start:m.end], m.text,
		bytes.TrimSpace(line))
}

// shown returns a path from the working directory, if the file lies below it.
func shown(path string) string {
	here, err := os.Getwd()
	if err != nil {
		return path
	}
	if rel, err := filepath.Rel(here, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

func (m mutant) changed() []byte {
	return slices.Concat(m.source[:m.start], []byte(m.text), m.source[m.end:])
}

// swaps are the operators that take the place of one. Those that have to do with bits are left out: most that compile
// break so much that any test notices.
var swaps = map[token.Token][]string{
	token.LSS:        {"<=", ">="},
	token.LEQ:        {"<", ">"},
	token.GTR:        {">=", "<="},
	token.GEQ:        {">", "<"},
	token.EQL:        {"!="},
	token.NEQ:        {"=="},
	token.LAND:       {"||"},
	token.LOR:        {"&&"},
	token.ADD:        {"-"},
	token.SUB:        {"+"},
	token.MUL:        {"/"},
	token.QUO:        {"*"},
	token.INC:        {"--"},
	token.DEC:        {"++"},
	token.ADD_ASSIGN: {"-="},
	token.SUB_ASSIGN: {"+="},
	token.MUL_ASSIGN: {"/="},
	token.QUO_ASSIGN: {"*="},
	token.BREAK:      {"continue"},
	token.CONTINUE:   {"break"},
}

// mutants returns the mutants of a package, in the order of the source.
func (p pack) mutants() (mutants []mutant, err error) {
	for _, name := range p.GoFiles {
		file := filepath.Join(p.Dir, name)
		source, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		set := token.NewFileSet()
		tree, err := parser.ParseFile(set, file, source, 0)
		if err != nil {
			return nil, err
		}
		replace := func(from, to token.Pos, texts ...string) {
			at := set.Position(from)
			for _, text := range texts {
				mutants = append(mutants, mutant{p.ImportPath, file, source, at.Offset, set.Position(to).Offset, text, at.Line,
					at.Column})
			}
		}
		for _, d := range tree.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
				ast.Inspect(f.Body, func(n ast.Node) bool { change(n, replace); return true })
			}
		}
	}
	return mutants, nil
}

// change replaces what can be changed in a node itself.
func change(n ast.Node, replace func(from, to token.Pos, texts ...string)) {
	operator := func(at token.Pos, t token.Token) {
		replace(at, at+token.Pos(len(t.String())), swaps[t]...)
	}
	switch n := n.(type) {
	case *ast.BinaryExpr:
		operator(n.OpPos, n.Op)
	case *ast.UnaryExpr:
		if n.Op == token.NOT {
			replace(n.OpPos, n.OpPos+1, "")
		}
	case *ast.IncDecStmt:
		operator(n.TokPos, n.Tok)
	case *ast.AssignStmt:
		operator(n.TokPos, n.Tok)
	case *ast.BranchStmt:
		operator(n.TokPos, n.Tok)
	case *ast.ExprStmt:
		replace(n.Pos(), n.End(), "")
	}
}
