package read

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/cachesim/cachesim/internal/base/params"
	"github.com/cachesim/cachesim/internal/base/random"
	"github.com/cachesim/cachesim/internal/base/terminal"
	"github.com/cachesim/cachesim/internal/traces"
	"github.com/cachesim/cachesim/internal/traces/files"
	"github.com/cachesim/cachesim/internal/traces/prompts"
	"github.com/cachesim/cachesim/internal/traces/stream"
)

// maxTenants bounds the tenants of a trace: each has a pool of its own.
const maxTenants = 100000

// unnamedTenant stands for requests that name no tenant.
const unnamedTenant = "-"

// Ways to find the tenant of a request.
const (
	tenantColumn = "column"
	tenantPrefix = "prefix"
	tenantFile   = "file"

	tenantJob       = "job"
	tenantDirectory = "directory"
)

// TenantEntry is a way to find the tenant of a request. It implements params.Named.
type TenantEntry struct {
	Name    string
	Summary string
	Params  []params.Param
}

func (e TenantEntry) Signature() (string, []params.Param) { return e.Name, e.Params }

// TenantRule is a way to find the tenant of a request with its parameters: what a user writes as `prefix(sep=:)`.
type TenantRule = params.Spec[TenantEntry]

var tenantEntries = []TenantEntry{
	{tenantColumn, "a column of a table, a field of prompts in JSON, or host or client of an access log",
		[]params.Param{
			{Name: "name", Default: "tenant", Doc: "the column: its name, or its number from 1"},
			saltParam,
		}},
	{tenantPrefix, "the beginning of the key", []params.Param{
		{Name: "sep", Default: "/", Doc: "the tenant is the part before the first of these characters"},
		{Name: "shift", Default: 0, Min: 0, Max: 63,
			Doc: "above 0: keys are numbers, and the tenant is the key without this many of its lowest bits"},
	}},
	{tenantFile, "each of several files is a tenant", []params.Param{
		{Name: "mix", Default: "spread", Choices: []string{"spread", "turns", "none"},
			Doc: "order of the requests of files that are not merged by time: each spread evenly over the whole, in turns, " +
				"or none, one file after another"},
		saltParam,
	}},
	{tenantJob, "of reads of files, the job; no two jobs may read the same block", nil},
	{tenantDirectory, "of reads of files, the directory, such as a data set's", []params.Param{
		{Name: "depth", Default: 1, Min: 1, Max: 1000,
			Doc: "the tenant is this many components of the path: /data of /data/train/a at 1, /data/train at 2"},
	}},
}

// saltParam says whether tenants of prompts share blocks.
var saltParam = params.Param{Name: "salt", Default: false, Doc: "of prompts: the blocks of each tenant are its own, " +
	"as with a cache_salt per tenant in vLLM; otherwise prompts with the same beginning share it, whoever sends them"}

var tenantRules = params.NewRegistry("tenant", "column", tenantEntries...)

// ParseTenants reads a way to find the tenant of a request.
func ParseTenants(text string) (TenantRule, error) {
	rule, err := tenantRules.Parse(text)
	if err == nil && rule.Name() == tenantColumn && rule.Params.Text("name") == "" {
		err = fmt.Errorf("tenant column: name is empty: want a column or a field, as in column(name=user)")
	}
	if err != nil || rule.Name() != tenantPrefix {
		return rule, err
	}
	switch sep := rule.Params.Text("sep"); {
	case sep == "":
		err = fmt.Errorf("tenant prefix: sep is empty: want a character, as in prefix(sep=/)")
	case sep != "/" && rule.Params.Int("shift") > 0:
		err = fmt.Errorf("tenant %s: keys are numbers (shift) or texts (sep): leave one out", rule)
	}
	return rule, err
}

// TenantRuleNames returns the names of the ways to find the tenant of a request.
func TenantRuleNames() []string { return tenantRules.Names() }

// fileTenants returns the names of files as tenants: their base names, whole paths if two base names are equal, and a
// number after duplicates.
func fileTenants(paths []string) []string {
	names := make([]string, len(paths))
	for i, path := range paths {
		names[i] = filepath.Base(path)
		isOther := func(other string) bool { return other != path && filepath.Base(other) == names[i] }
		if slices.ContainsFunc(paths, isOther) {
			names[i] = path
		}
	}
	same := map[string]int{}
	for i, name := range names {
		if same[name]++; same[name] > 1 {
			names[i] += "#" + strconv.Itoa(same[name])
		}
	}
	return names
}

// columnWanted returns the column that holds the tenants, or the labels, "" if none is requested.
func columnWanted(o Options) string {
	if o.By != "" {
		return o.By
	}
	if rule, err := ParseTenants(o.Tenants); err == nil && rule.Name() == tenantColumn {
		return rule.Params.Text("name")
	}
	return ""
}

// tenancy finds the tenants of requests while a trace loads. Its methods may be called on nil: no tenants.
type tenancy struct {
	rule    TenantRule
	column  *tenantNumbers
	prompts bool // each prompt has a tenant, not each object
}

// tenantBytes is the memory per request for finding the tenants while a trace loads: their numbers, the order of the
// requests, and the objects before and after.
const tenantBytes = 32

// eachRequest reports whether each request names its tenant when it is read.
func (y *tenancy) eachRequest() bool { return y != nil && !y.byPrefix() && !y.ofFiles() }

// ofFiles reports whether tenants follow from reads of files.
func (y *tenancy) ofFiles() bool {
	return y != nil && (y.rule.Name() == tenantJob || y.rule.Name() == tenantDirectory)
}

// byPrefix reports whether the keys name the tenants.
func (y *tenancy) byPrefix() bool { return y != nil && y.rule.Name() == tenantPrefix }

// mixes reports whether files that are read one after another are mixed afterwards.
func (y *tenancy) mixes() bool {
	return y != nil && y.rule.Name() == tenantFile && y.rule.Params.Text("mix") != "none"
}

// beginTenants prepares for the tenants that the options request.
func (l *loader) beginTenants() error {
	if l.opts.Tenants == "" {
		return nil
	}
	rule, err := ParseTenants(l.opts.Tenants)
	if err != nil {
		return err
	}
	l.tenancy = &tenancy{rule: rule, column: newTenantNumbers()}
	if rule.Name() != tenantFile {
		return nil
	}
	switch {
	case len(l.paths) < 2:
		return fmt.Errorf("%s: tenants by file need several files, each of them a tenant", l.paths[0])
	case l.opts.PerFile:
		return fmt.Errorf("%s: tenants by file share a cache, so that the files cannot be replayed one by one", l.paths[0])
	case !l.opts.Merge && l.tenancy.mixes() && l.opts.Limit > 0 && l.sampler != nil:
		return fmt.Errorf("%s: mixed files can be sampled or limited, but not both", l.paths[0])
	}
	l.tenants = fileTenants(l.paths)
	if !l.opts.Merge && l.tenancy.mixes() {
		l.mixedLimit, l.opts.Limit = l.opts.Limit, 0 // the limit counts requests of the mix
	}
	return nil
}

// check refuses a trace whose requests cannot have tenants.
func (y *tenancy) check(l *loader, fields stream.Fields) error {
	_, reads := fields.Kind.(files.Kind)
	if _, y.prompts = prompts.KindOf(fields); y.prompts {
		return y.checkPrompts(l, fields)
	}
	switch {
	case y.salts():
		return fmt.Errorf("%s: salt=true is of prompts, but its requests are none, so that tenants share no objects anyway; "+
			"remove it", l.paths[0])
	case reads && y.ofFiles():
		return nil
	case reads:
		return fmt.Errorf("%s: its requests are %s, whose tenants are jobs or directories: write --tenant job, or "+
			"--tenant 'directory(depth=1)'", l.paths[0], fields.Kind.Name())
	case y.ofFiles():
		return fmt.Errorf("%s: its requests are not reads of files, so they have no %s: write --tenant 'prefix(sep=/)', or "+
			"column(name=NAME)", l.paths[0], y.rule.Name())
	case fields.Kind != nil:
		return fmt.Errorf("%s: its requests are %s, which have no tenants", l.paths[0], fields.Kind.Name())
	case y.rule.Name() == tenantColumn && !fields.Tenant:
		return fmt.Errorf("%s: its requests have no column of tenants", l.paths[0])
	case fields.Groups && y.mixes():
		return fmt.Errorf("%s: has groups of requests, which mixing would split: write --tenant 'file(mix=none)'",
			l.paths[0])
	}
	return nil
}

// checkPrompts refuses prompts whose tenants cannot be known, and notes whether these share blocks.
func (y *tenancy) checkPrompts(l *loader, fields stream.Fields) error {
	switch name := y.rule.Name(); {
	case name != tenantColumn && name != tenantFile:
		return fmt.Errorf("%s: prompts have no tenants by %s; write --tenant 'column(name=user)' or --tenant file",
			l.paths[0], name)
	case name == tenantColumn && !fields.Tenant:
		return fmt.Errorf("%s: its prompts name no tenants; with several files, write --tenant file", l.paths[0])
	case y.mixes() && !l.opts.Merge:
		return fmt.Errorf("%s: prompts of several files are merged by time; add --merge, or write --tenant "+
			"'file(mix=none)' for one file after another", l.paths[0])
	}
	l.salted = y.salts()
	return nil
}

func (y *tenancy) salts() bool {
	salt, _ := y.rule.Params[saltParam.Name].(bool)
	return salt
}

// salted returns the id of the first block of a tenant's prompt, in a trace in which tenants share none: all blocks of
// a prompt are identified by those before them.
func salted(id uint64, tenant []byte) uint64 {
	return random.Scramble(id ^ saltOf(tenant))
}

func saltOf(tenant []byte) uint64 { return random.Scramble(stream.HashText(tenant)) }

// finishTenants puts the requests of mixed files in order and makes an object of each pair of tenant and key.
func (l *loader) finishTenants() (err error) {
	t, y := l.trace, l.tenancy
	if y.prompts {
		if t.Limited && y.rule.Name() == tenantColumn && y.column.nobody() {
			return fmt.Errorf("%s: none of the %d prompts within --limit has a tenant in the field %s; raise the limit, or "+
				"name another field", t.Name, len(t.Groups), y.rule.Params.Text("name"))
		}
		t.Tenants = &traces.Tenants{Names: y.column.names(), OfPrompt: y.column.column}
		return nil
	}
	if y.ofFiles() {
		return tenantsOfFiles(t, y.rule)
	}
	if y.byPrefix() {
		if y.column, err = prefixTenants(t, y.rule); err != nil {
			return err
		}
	}
	if y.mixes() && !l.opts.Merge {
		order := mixed(y.column.column, y.column.numbers.Len(), y.rule.Params.Text("mix"))
		if l.mixedLimit > 0 && l.mixedLimit <= len(order) {
			order, t.Limited = order[:l.mixedLimit], true
		}
		t.Objects, t.RequestSizes = stream.Pick(t.Objects, order), stream.Pick(t.RequestSizes, order)
		t.Times, t.Ops = stream.Pick(t.Times, order), stream.Pick(t.Ops, order)
		t.Served = stream.Pick(t.Served, order)
		y.column.column = stream.Pick(y.column.column, order)
	}
	if err := divide(t, y.column); err != nil {
		return fmt.Errorf("%s: %w", t.Name, err)
	}
	if !l.wantsKeys() {
		t.Keys = nil
	}
	return nil
}

// tenantsOfFiles sets the tenants of a trace of reads: each block has one.
func tenantsOfFiles(t *traces.Trace, rule TenantRule) (err error) {
	c := files.Of(t.Kind)
	var of []uint32
	var names []string
	if rule.Name() == tenantDirectory {
		of, names = c.DirectoryOf(rule.Params.Int("depth"))
	} else if of, names, err = c.JobOf(t.Groups, t.Objects); err != nil {
		return fmt.Errorf("%s: %w", t.Name, err)
	}
	if len(names) > maxTenants+1 {
		return fmt.Errorf("%s: more than %d tenants, the limit of a trace: want fewer jobs, or a smaller depth", t.Name,
			maxTenants)
	}
	inOrder := stream.NewNumbering() // of their first request, as objects are
	t.Tenants = &traces.Tenants{Of: of}
	for o, tenant := range of {
		if of[o] = inOrder.OfNumber(uint64(tenant)); int(of[o]) == len(t.Tenants.Names) {
			t.Tenants.Names = append(t.Tenants.Names, terminal.Label(names[tenant]))
		}
	}
	return nil
}

type tenantNumbers struct {
	numbers *stream.Numbering // of their names
	column  []uint32          // per request; per prompt, if prompts have tenants
}

func newTenantNumbers() *tenantNumbers { return &tenantNumbers{numbers: stream.NewNumbering()} }

func (c *tenantNumbers) names() (all []string) {
	for i := range c.numbers.Len() {
		all = append(all, terminal.Label(c.numbers.Key(uint32(i)).String()))
	}
	return all
}

// add appends the tenant of the next request, or prompt.
func (c *tenantNumbers) add(name []byte) error {
	if len(name) == 0 {
		name = []byte(unnamedTenant)
	}
	number := c.numbers.OfText(name)
	if c.numbers.Len() > maxTenants {
		return errTooManyTenants
	}
	c.column = append(c.column, number)
	return nil
}

func (c *tenantNumbers) nobody() bool {
	return c.numbers.Len() == 1 && c.numbers.Key(0).String() == unnamedTenant
}

var errTooManyTenants = fmt.Errorf("more than %d tenants, the limit of a trace: name a column or a prefix "+
	"with fewer values", maxTenants)

// prefixTenants returns the column of tenants by the keys of a trace.
func prefixTenants(t *traces.Trace, rule TenantRule) (*tenantNumbers, error) {
	c := newTenantNumbers()
	of := make([]uint32, t.NumObjects) // tenant per object
	for o, key := range t.Keys {
		name, err := tenantOfKey(key, rule.Params)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.Name, err)
		}
		if err := c.add([]byte(name)); err != nil {
			return nil, fmt.Errorf("%s: %w", t.Name, err)
		}
		of[o] = c.column[o]
	}
	c.column = make([]uint32, len(t.Objects))
	for pos, o := range t.Objects {
		c.column[pos] = of[o]
	}
	return c, nil
}

func tenantOfKey(key stream.Key, v params.Values) (string, error) {
	if shift := v.Int("shift"); shift > 0 {
		if key.Text != "" {
			return "", fmt.Errorf("key %.80q is not a number, so it has no lowest bits: write --tenant "+
				"'prefix(sep=/)'", key.Text)
		}
		return strconv.FormatUint(key.Num>>shift, 10), nil
	}
	name, _, found := strings.Cut(key.String(), v.Text("sep"))
	if !found {
		return "", nil
	}
	return name, nil
}

// mixed returns the order of the requests when all tenants', which are one after another in column, are mixed:
// their positions in the column. Requests of a tenant keep their order.
func mixed(column []uint32, tenants int, mix string) []uint32 {
	counts := make([]int64, tenants)
	for _, tenant := range column {
		counts[tenant]++
	}
	type place struct {
		number int64 // of the request among its tenant's
		tenant uint32
		pos    uint32
	}
	places := make([]place, len(column))
	numbers := make([]int64, tenants)
	for pos, tenant := range column {
		places[pos] = place{numbers[tenant], tenant, uint32(pos)}
		numbers[tenant]++
	}
	slices.SortStableFunc(places, func(a, b place) int {
		if mix == "turns" {
			return cmp.Compare(a.number, b.number)
		}
		// Request i of n is at (2i+1)/2n of the whole. Cross-multiplied, so that rounding cannot change the order.
		return compareProducts(2*a.number+1, counts[b.tenant], 2*b.number+1, counts[a.tenant])
	})
	order := make([]uint32, len(places))
	for i, p := range places {
		order[i] = p.pos
	}
	return order
}

// compareProducts compares a x b with c x d in 128 bits: products of positions and lengths may need 65.
func compareProducts(a, b, c, d int64) int {
	high, low := bits.Mul64(uint64(a), uint64(b))
	otherHigh, otherLow := bits.Mul64(uint64(c), uint64(d))
	return cmp.Or(cmp.Compare(high, otherHigh), cmp.Compare(low, otherLow))
}

// divide makes an object of each pair of tenant and object, numbered in order of first appearance, and sets Tenants.
func divide(t *traces.Trace, c *tenantNumbers) error {
	pairs := stream.NewNumbering()
	tenants := stream.NewNumbering() // from scratch, since mixing may have changed the order of their first requests
	old := *t
	const several = math.MaxUint32
	first := make([]uint32, old.NumObjects) // the tenant of each key plus one, or several
	t.NumObjects, t.ObjectSizes, t.Keys, t.Tenants = 0, nil, nil, &traces.Tenants{}
	t.Objects = make([]uint32, len(old.Objects))
	for pos, o := range old.Objects {
		number := pairs.OfNumber(uint64(c.column[pos])<<32 | uint64(o))
		if pairs.Full {
			return stream.ErrTooManyObjects
		}
		t.Objects[pos] = number
		if int(number) < t.NumObjects {
			continue
		}
		t.NumObjects++
		if first[o] == 0 {
			first[o] = c.column[pos] + 1
		} else if first[o] != several {
			first[o] = several
			t.Tenants.Shared++
		}
		tenant := tenants.OfNumber(uint64(c.column[pos]))
		if int(tenant) == len(t.Tenants.Names) {
			t.Tenants.Names = append(t.Tenants.Names, terminal.Label(c.numbers.Key(c.column[pos]).String()))
		}
		t.Tenants.Of = append(t.Tenants.Of, tenant)
		if old.HasSizes() {
			t.ObjectSizes = append(t.ObjectSizes, old.Size(pos))
		}
		if old.Keys != nil {
			t.Keys = append(t.Keys, old.Keys[o])
		}
	}
	if n := t.Tenants.Shared; n > 0 {
		t.Warnings = append(t.Warnings, fmt.Sprintf("%s of %s keys have several tenants, and are an object for each of "+
			"them, so that none hits what another has loaded; --by counts the hits of each in one cache instead",
			stream.Thousands(n), stream.Thousands(old.NumObjects)))
	}
	return nil
}
