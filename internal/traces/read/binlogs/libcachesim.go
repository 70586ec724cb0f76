package binlogs

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/traces/source"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// knownLayouts are those of the readers in libCacheSim's traceReader/customizedReader, by the names that it has for
// them. Fields that follow the next access are not read.
var knownLayouts = []layout{
	named("twr", "<IQII", roles{time: 1, key: 2, keySize: 3, size: 3, op: 4, ttl: 4}, splitTwitter),
	named("twrNS", "<IQIIH", roles{time: 1, key: 2, keySize: 3, size: 3, op: 4, ttl: 4, tenant: 5}, splitTwitter),
	named("CF1", "<IQQiiihhhbbb", roles{time: 1, key: 2, size: 3, ttl: 4}),
	named("akamai", "<IQIHHH", roles{time: 1, key: 2, size: 3, tenant: 4}),
	named("wiki16u", "<QIH", roles{key: 1, size: 2}),
	named("wiki19u", "<IQIH", roles{time: 1, key: 2, size: 3}),
	named("wiki19t", "<IQI", roles{time: 1, key: 2, size: 3}),
	named("standardIQI", "<IQI", roles{time: 1, key: 2, size: 3}),
	named("standardIQQ", "<IQQ", roles{time: 1, key: 2, size: 3}),
	named("standardIII", "<III", roles{time: 1, key: 2, size: 3}),
	named("standardIQIBH", "<IQIBH", roles{time: 1, key: 2, size: 3, op: 4, tenant: 5}),
	named("oracleGeneralOpNS", "<IQIBHq", roles{time: 1, key: 2, size: 3, op: 4, tenant: 5}),
	named("oracleSimTwrNS", "<IQIiHq", roles{time: 1, key: 2, size: 3, ttl: 4, tenant: 5}),
	named("oracleSysTwrNS", "<IQHIHHiq", roles{time: 1, key: 2, keySize: 3, size: 4, op: 5, tenant: 6, ttl: 7}),
	named("oracleCF1", "<IQQiiiqhhhbbb", roles{time: 1, key: 2, size: 3, ttl: 4}, func(l *layout) { l.extends = true }),
	named("oracleAkamai", "<IQIhhhq", roles{time: 1, key: 2, size: 3, tenant: 4}),
	named("oracleWiki16u", "<QIHq", roles{key: 1, size: 2}),
	named("oracleWiki19u", "<IQIHq", roles{time: 1, key: 2, size: 3}),
	named("valpin", "<Q", roles{key: 1}),
}

func named(name, format string, r roles, changes ...func(*layout)) layout {
	l, err := parseStruct(format)
	if err == nil {
		err = l.assign(r)
	}
	if err != nil {
		panic(name + ": " + err.Error()) // the list above is wrong
	}
	l.name = name
	for _, change := range changes {
		change(&l)
	}
	return l
}

// splitTwitter splits two numbers of 32 bits: 10 bits for the size of the key and 22 for that of the value, 8 for the
// operation and 24 for the time to live.
func splitTwitter(l *layout) {
	l.keySize.shift, l.keySize.bits = 22, 10
	l.size.bits = 22
	l.op.shift, l.op.bits = 24, 8
	l.ttl.bits = 24
}

func layoutNames() (names []string) {
	for _, l := range knownLayouts {
		names = append(names, l.name)
	}
	return names
}

var libCacheSimFormat = source.Format{
	Name: "libcachesim",
	Options: []params.Param{
		{Name: "layout", Default: "auto", Choices: append([]string{"auto"}, layoutNames()...),
			Doc: "layout of the records; auto: that of the file's name"},
		tenantOption(), source.OpsOption(),
	},
	Writes: stream.WritesFill,
	Detect: func(head source.Head, name string) source.Confidence {
		l := layoutIn(name)
		return source.Certain.If(l != nil && len(head.Bytes) >= l.record && source.IsBinary(head.Bytes))
	},
	Binary:  true,
	AnyText: "records in one of libCacheSim's layouts",
	Open:    openLibCacheSim,
}

// tenantOption is for formats that have one field of a tenant.
func tenantOption() params.Param {
	return params.Param{Name: "tenant", Default: "", Choices: []string{"", "tenant"},
		Doc: "tenant: the tenant or namespace that records state, for dividing a cache among tenants; by default none"}
}

// layoutIn returns the layout that a file name in lower case names between points, or at its end; nil if none.
func layoutIn(name string) *layout {
	parts := strings.FieldsFunc(name, func(c rune) bool { return c == '.' || c == '_' || c == '-' })
	i := slices.IndexFunc(knownLayouts, func(l layout) bool { return slices.Contains(parts, strings.ToLower(l.name)) })
	if i < 0 {
		return nil
	}
	return &knownLayouts[i]
}

func openLibCacheSim(src *source.Source, opts params.Values) (stream.Reader, stream.Fields, error) {
	l := layoutIn(src.FormatName)
	if choice := opts.Text("layout"); choice != "auto" {
		i := slices.IndexFunc(knownLayouts, func(l layout) bool { return l.name == choice })
		l = &knownLayouts[i]
	}
	if l == nil {
		return nil, stream.Fields{}, src.Errorf("which layout have its records? Name it, as in libcachesim:layout=twr (%s)",
			strings.Join(layoutNames(), ", "))
	}
	opts["layout"] = l.name
	return open(&reader{src: src, layout: *l, unit: second}, l.name, opts)
}

// open starts to read records of a layout with at most one field of a tenant.
func open(r *reader, layout string, opts params.Values) (stream.Reader, stream.Fields, error) {
	r.ops = source.NewOpFilter(opts.Text("ops"))
	if tenant := opts.Text("tenant"); tenant != "" {
		if tenant != "tenant" || !r.tenant.exists() {
			return nil, stream.Fields{}, r.src.Errorf("tenant %q: want tenant, if the layout has one; %s has %s", tenant,
				layout, map[bool]string{true: "one", false: "none"}[r.tenant.exists()])
		}
		r.tenants = true
	}
	r.state(fmt.Sprintf("%s, records of %d bytes", layout, r.record))
	return r, r.fields(), nil
}
