package target

// Flag is a target as the value of a flag. Until it is set it means Default. It implements pflag.Value.
type Flag struct {
	Target
	IsSet bool
}

// Default is the target if the user has not given one.
var Default = Target{0.9, true}

// NewFlag returns a flag that means Default.
func NewFlag() Flag { return Flag{Target: Default} }

// Usage says what the flag takes.
const Usage = "print the capacity that each policy needs for this: a share of the largest hit ratio (90%), a hit " +
	"ratio (0.5), or none (default 90% from 3 capacities on)"

func (f *Flag) Type() string { return "TARGET" }

// String implements pflag.Value. The default is in Usage, with its condition.
func (f *Flag) String() string {
	if !f.IsSet {
		return ""
	}
	return f.Target.String()
}

func (f *Flag) Set(text string) (err error) {
	f.IsSet = true
	f.Target, err = Parse(text)
	return err
}

// Asks reports whether an answer is shown beside that many capacities: always if the user has given a target.
func (f Flag) Asks(capacities int) bool {
	return f.Target != Target{} && (f.IsSet || capacities >= leastCapacities)
}
