// Command api prints what other modules can use of this one: every exported name of its public packages and, because
// those are aliases, the fields and methods of the types behind them, as far as they can be reached. docs/api.txt keeps
// the text, so that a change of the API shows in the change that makes it.
package main

import (
	"bufio"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"go/token"
	"go/types"
	"io"
	"log"
	"os"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

func main() {
	log.SetFlags(0)
	dir := flag.String("dir", "..", "folder of the module")
	flag.Parse()
	w := bufio.NewWriter(os.Stdout)
	if err := cmp.Or(run(w, *dir, flag.Args()), w.Flush()); err != nil {
		log.Fatal("api: ", err)
	}
}

// run prints the API of packages of the module in dir.
func run(w io.Writer, dir string, patterns []string) error {
	loaded, err := packages.Load(&packages.Config{Dir: dir, Mode: packages.NeedName | packages.NeedTypes |
		packages.NeedImports | packages.NeedDeps | packages.NeedModule}, patterns...)
	if err != nil {
		return err
	}
	for _, p := range loaded {
		for _, e := range p.Errors {
			err = errors.Join(err, e)
		}
		if p.Module == nil {
			return fmt.Errorf("%s is in no module", p.PkgPath)
		}
	}
	if err != nil {
		return err
	}
	a := &api{w: w, seen: map[*types.TypeName]bool{}}
	for _, p := range loaded {
		a.module = p.Module.Path
		a.pack(p.Types)
	}
	for len(a.next) > 0 {
		behind := a.next
		a.next = nil
		slices.SortFunc(behind, func(x, y *types.TypeName) int { return cmp.Compare(name(x), name(y)) })
		for _, t := range behind {
			a.typeName(t)
		}
	}
	return a.err
}

// api prints the names that others can reach, each once.
type api struct {
	w      io.Writer
	module string
	seen   map[*types.TypeName]bool
	next   []*types.TypeName // types of the module that were named, and are yet to be printed
	err    error
}

func (a *api) line(format string, args ...any) {
	if _, err := fmt.Fprintf(a.w, format+"\n", args...); a.err == nil {
		a.err = err
	}
}

func (a *api) pack(p *types.Package) {
	a.line("package %s // %s", p.Name(), p.Path())
	for _, name := range p.Scope().Names() {
		switch o := p.Scope().Lookup(name).(type) {
		case *types.TypeName:
			if o.Exported() && o.IsAlias() {
				a.line("type %s = %s", o.Name(), a.text(types.Unalias(o.Type())))
			} else if o.Exported() {
				a.typeName(o)
			}
		case *types.Const:
			if o.Exported() {
				a.line("const %s %s = %s", o.Name(), a.text(o.Type()), o.Val())
			}
		case *types.Func, *types.Var:
			if o.Exported() {
				a.line("%s", types.ObjectString(o, a.qualify))
				a.text(o.Type())
			}
		}
	}
}

// typeName prints a defined type: its fields, or the methods of an interface, and its methods.
func (a *api) typeName(t *types.TypeName) {
	a.seen[t] = true
	switch under := t.Type().Underlying().(type) {
	case *types.Struct:
		a.line("type %s struct", name(t))
		for f := range under.Fields() {
			if f.Exported() {
				a.line("\t%s %s", f.Name(), a.text(f.Type()))
			}
		}
	case *types.Interface:
		a.line("type %s interface", name(t))
		for m := range under.Methods() { // sorted by name
			a.line("\t%s%s", m.Name(), strings.TrimPrefix(a.text(m.Type()), "func"))
		}
		return
	default:
		a.line("type %s %s", name(t), a.text(under))
	}
	for _, recv := range methods(t) {
		a.line("\tfunc %s%s", recv.Name(), strings.TrimPrefix(a.text(recv.Type()), "func"))
	}
}

// methods returns the exported methods of pointers to a type, sorted by name.
func methods(t *types.TypeName) (all []*types.Func) {
	set := types.NewMethodSet(types.NewPointer(t.Type()))
	for m := range set.Methods() {
		if f, ok := m.Obj().(*types.Func); ok && token.IsExported(f.Name()) {
			all = append(all, f)
		}
	}
	return all
}

// text is a type as code, and adds what it names to the types to print.
func (a *api) text(t types.Type) string {
	a.reach(t)
	return types.TypeString(t, a.qualify)
}

// reach adds the types of the module that a type names.
func (a *api) reach(t types.Type) {
	switch t := types.Unalias(t).(type) {
	case *types.Named:
		for arg := range t.TypeArgs().Types() {
			a.reach(arg)
		}
		o := t.Origin().Obj()
		if o.Pkg() != nil && (o.Pkg().Path() == a.module || strings.HasPrefix(o.Pkg().Path(), a.module+"/")) && !a.seen[o] {
			a.seen[o] = true
			a.next = append(a.next, o)
		}
	case *types.Signature:
		for v := range t.Params().Variables() {
			a.reach(v.Type())
		}
		for v := range t.Results().Variables() {
			a.reach(v.Type())
		}
	case *types.Map:
		a.reach(t.Key())
		a.reach(t.Elem())
	case interface{ Elem() types.Type }: // pointers, slices, arrays, channels
		a.reach(t.Elem())
	}
}

func (a *api) qualify(p *types.Package) string {
	if p.Path() == a.module {
		return ""
	}
	return p.Name()
}

func name(t *types.TypeName) string { return t.Pkg().Name() + "." + t.Name() }
