package stream

// ValueType is what a store keeps under a key. Values of one type are alike in size if nothing else is known.
type ValueType uint8

const (
	ValueUnknown ValueType = iota
	ValueString
	ValueHash
	ValueList
	ValueSet
	ValueSortedSet
	ValueStream
	ValueJSON
	ValueTypes // how many there are
)

// valueTypes are their names as Redis' TYPE states them.
var valueTypes = [ValueTypes]string{"", "string", "hash", "list", "set", "zset", "stream", "ReJSON-RL"}

func (v ValueType) String() string { return valueTypes[v] }

// ParseValueType is the inverse of String; false for a type that is not known.
func ParseValueType(name string) (ValueType, bool) {
	for v := ValueString; v < ValueTypes; v++ {
		if valueTypes[v] == name {
			return v, true
		}
	}
	return ValueUnknown, false
}
