package admission

import (
	"testing"

	"github.com/cachesim/cachesim/internal/policies"
	"github.com/cachesim/cachesim/internal/policies/policytest"
)

// Objects 0 to 3 are resident, and requested again and again. 9 is refused, and admitted when it is requested again
// soon. Once a sample of four requests has gone by, such an error raises the gain, which falls after two without.
func TestFeedbackAdmitsWhatReturns(t *testing.T) {
	c := policies.Config{Capacity: 4, Unit: true, Objects: 20, Requests: 1000}
	d := policytest.Drive(t, "tinylfu(feedback=true,jitter=0,hash=java)", c)
	a := d.Policy.(*wTinyLFU).arrivals
	now := 0
	serve := func(objects ...policies.Object) {
		for _, o := range objects {
			d.Serve(o, 1, now)
			now++
		}
	}
	serve(0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3)
	serve(9)
	if d.Stored[9] != 0 {
		t.Fatal("9 is admitted, although it was requested once, and the others three times")
	}
	serve(9)
	if d.Stored[9] == 0 || a.gain != 1 {
		t.Errorf("9 returns soon: resident %v, gain %d; want true and 1", d.Stored[9] != 0, a.gain)
	}
	for range 10 {
		serve(1, 2, 3, 9)
	}
	serve(10)
	if a.gain != 0 {
		t.Errorf("after samples without an error the gain is %d, want 0", a.gain)
	}
}
