// SIEVE, equal to the program's own: a hand moves from the oldest object to the newest and evicts the first one that
// was not requested since it last passed. Objects keep their places.
mod cachesim;
use cachesim::Policy;

/// A ring by age: object o is node o + 1, and node 0 is its ends.
struct Sieve {
    newer: Vec<u32>,
    older: Vec<u32>,
    visited: Vec<bool>,
    hand: u32, // 0: begin with the oldest
}

impl Sieve {
    fn unlink(&mut self, i: u32) {
        let (newer, older) = (self.newer[i as usize], self.older[i as usize]);
        self.older[newer as usize] = older;
        self.newer[older as usize] = newer;
    }
}

impl Policy for Sieve {
    const NEW: Sieve = Sieve { newer: vec![], older: vec![], visited: vec![], hand: 0 };
    const NAME: &'static std::ffi::CStr = c"sieve";
    const SOURCE: &'static std::ffi::CStr = c"Zhang et al., SIEVE is simpler than LRU, NSDI 2024, algorithm 1";

    fn grow(&mut self, objects: u32) {
        let nodes = objects as usize + 1;
        self.newer.resize(nodes, 0);
        self.older.resize(nodes, 0);
        self.visited.resize(nodes, false);
    }
    fn hit(&mut self, object: u32, _: i64) {
        self.visited[object as usize + 1] = true;
    }
    fn miss(&mut self, _: u32, _: i64) {}
    fn victim(&mut self, _: u32, _: i64) -> u32 {
        let mut i = self.hand;
        loop {
            if i == 0 {
                i = self.newer[0]; // the oldest
            }
            if !std::mem::take(&mut self.visited[i as usize]) {
                break;
            }
            i = self.newer[i as usize];
        }
        self.hand = self.newer[i as usize];
        self.unlink(i);
        i - 1
    }
    fn insert(&mut self, object: u32, _: i64) {
        let (i, newest) = (object + 1, self.older[0]);
        self.visited[i as usize] = false;
        self.older[i as usize] = newest;
        self.newer[i as usize] = 0;
        self.newer[newest as usize] = i;
        self.older[0] = i;
    }
    fn remove(&mut self, object: u32) {
        if self.hand == object + 1 {
            self.hand = self.newer[self.hand as usize];
        }
        self.unlink(object + 1);
    }
}

export!(Sieve);
