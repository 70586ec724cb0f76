// A policy of cachesim in Rust, as a module of WebAssembly. docs/policies-own.md says when each function is called.

/// The functions of a policy. victim chooses a resident object, and forgets it.
pub trait Policy {
    const NEW: Self;
    const NAME: &'static std::ffi::CStr = c"";
    const SOURCE: &'static std::ffi::CStr = c""; // the paper or page that defines it
    fn hit(&mut self, object: u32, size: i64);
    fn miss(&mut self, object: u32, size: i64);
    fn victim(&mut self, object: u32, size: i64) -> u32;
    fn insert(&mut self, object: u32, size: i64);
    fn remove(&mut self, object: u32);
    /// All objects are below this.
    fn grow(&mut self, _objects: u32) {}
    /// unit: 1 if the capacity counts objects, 0 if bytes.
    fn resize(&mut self, _capacity: i64, _unit: u32) {}
}

/// export!(Mine) exports the functions above. More, such as admit, are exported in the same way; they reach the policy
/// as policy().
#[macro_export]
macro_rules! export {
    ($policy:ty) => {
        static mut POLICY: $policy = <$policy as Policy>::NEW;
        #[allow(static_mut_refs)] // a module has one thread
        fn policy() -> &'static mut $policy { unsafe { &mut POLICY } }
        #[no_mangle]
        extern "C" fn name() -> *const std::ffi::c_char { <$policy>::NAME.as_ptr() }
        #[no_mangle]
        extern "C" fn source() -> *const std::ffi::c_char { <$policy>::SOURCE.as_ptr() }
        #[no_mangle]
        extern "C" fn hit(object: u32, size: i64) { policy().hit(object, size) }
        #[no_mangle]
        extern "C" fn miss(object: u32, size: i64) { policy().miss(object, size) }
        #[no_mangle]
        extern "C" fn victim(object: u32, size: i64) -> u32 { policy().victim(object, size) }
        #[no_mangle]
        extern "C" fn insert(object: u32, size: i64) { policy().insert(object, size) }
        #[no_mangle]
        extern "C" fn remove(object: u32) { policy().remove(object) }
        #[no_mangle]
        extern "C" fn grow(objects: u32) { policy().grow(objects) }
        #[no_mangle]
        extern "C" fn resize(capacity: i64, unit: u32) { policy().resize(capacity, unit) }
    };
}
