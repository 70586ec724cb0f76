//! The caches, each through the interface that its users call. A value is the size of its object.

use foyer_memory::{CacheBuilder, EvictionConfig, FifoConfig, LfuConfig, LruConfig, S3FifoConfig, SieveConfig};
use mini_moka::sync::ConcurrentCacheExt;
use quick_cache::OptionsBuilder;

pub trait Cache {
    /// Reports whether the object is cached, as a request for it.
    fn get(&mut self, object: u64) -> bool;
    fn insert(&mut self, object: u64, size: u32);
    fn remove(&mut self, object: u64);
    /// Does what the cache would do later.
    fn settle(&mut self) {}
}

/// How much a cache holds: that many objects, or bytes of about that many objects.
pub struct Room {
    pub capacity: u64,
    pub by_bytes: bool,
    pub items: u64,
}

pub fn new(policy: &str, room: &Room) -> Result<Box<dyn Cache>, String> {
    Ok(match policy {
        "moka" => Box::new(Moka { cache: moka(room), settles: true }),
        "moka-unsettled" => Box::new(Moka { cache: moka(room), settles: false }),
        "mini-moka" => Box::new(MiniMoka { cache: mini_moka(room), settles: true }),
        "mini-moka-unsettled" => Box::new(MiniMoka { cache: mini_moka(room), settles: false }),
        "quick-cache" => Box::new(QuickCache::with_weighter(room.items as usize, room.capacity, Sizes)),
        "quick-cache-8-shards" => Box::new(quick_cache_sharded(room, 8)?),
        _ => Box::new(foyer(policy, room)?),
    })
}

struct Moka {
    cache: moka::sync::Cache<u64, u32>,
    settles: bool,
}

fn moka(room: &Room) -> moka::sync::Cache<u64, u32> {
    let builder = moka::sync::Cache::builder().max_capacity(room.capacity);
    if room.by_bytes {
        builder.weigher(|_, size| *size).build()
    } else {
        builder.build()
    }
}

impl Cache for Moka {
    fn get(&mut self, object: u64) -> bool {
        self.cache.get(&object).is_some()
    }
    fn insert(&mut self, object: u64, size: u32) {
        self.cache.insert(object, size);
    }
    fn remove(&mut self, object: u64) {
        self.cache.invalidate(&object);
    }
    fn settle(&mut self) {
        if self.settles {
            self.cache.run_pending_tasks();
        }
    }
}

struct MiniMoka {
    cache: mini_moka::sync::Cache<u64, u32>,
    settles: bool,
}

fn mini_moka(room: &Room) -> mini_moka::sync::Cache<u64, u32> {
    let builder = mini_moka::sync::Cache::builder().max_capacity(room.capacity);
    if room.by_bytes {
        builder.weigher(|_, size| *size).build()
    } else {
        builder.build()
    }
}

impl Cache for MiniMoka {
    fn get(&mut self, object: u64) -> bool {
        self.cache.get(&object).is_some()
    }
    fn insert(&mut self, object: u64, size: u32) {
        self.cache.insert(object, size);
    }
    fn remove(&mut self, object: u64) {
        self.cache.invalidate(&object);
    }
    fn settle(&mut self) {
        if self.settles {
            self.cache.sync();
        }
    }
}

#[derive(Clone)]
struct Sizes;

impl quick_cache::Weighter<u64, u32> for Sizes {
    fn weight(&self, _: &u64, size: &u32) -> u64 {
        u64::from(*size)
    }
}

type QuickCache = quick_cache::unsync::Cache<u64, u32, Sizes>;
type QuickCacheSharded = quick_cache::sync::Cache<u64, u32, Sizes>;

impl Cache for QuickCache {
    fn get(&mut self, object: u64) -> bool {
        quick_cache::unsync::Cache::get(self, &object).is_some()
    }
    fn insert(&mut self, object: u64, size: u32) {
        quick_cache::unsync::Cache::insert(self, object, size);
    }
    fn remove(&mut self, object: u64) {
        quick_cache::unsync::Cache::remove(self, &object);
    }
}

/// What `sync::Cache::with_weighter` makes on a machine that has a quarter as many cores as shards.
fn quick_cache_sharded(room: &Room, shards: usize) -> Result<QuickCacheSharded, String> {
    let options = OptionsBuilder::new()
        .shards(shards)
        .estimated_items_capacity(room.items as usize)
        .weight_capacity(room.capacity)
        .build()
        .map_err(|e| e.to_string())?;
    Ok(QuickCacheSharded::with_options(options, Sizes, Default::default(), Default::default()))
}

impl Cache for QuickCacheSharded {
    fn get(&mut self, object: u64) -> bool {
        quick_cache::sync::Cache::get(self, &object).is_some()
    }
    fn insert(&mut self, object: u64, size: u32) {
        quick_cache::sync::Cache::insert(self, object, size);
    }
    fn remove(&mut self, object: u64) {
        quick_cache::sync::Cache::remove(self, &object);
    }
}

type Foyer = foyer_memory::Cache<u64, u32>;

/// Makes a cache of foyer by a name such as foyer-lfu, or foyer-lfu-1-shard for one with a single shard.
fn foyer(policy: &str, room: &Room) -> Result<Foyer, String> {
    let name = policy.strip_suffix("-1-shard").unwrap_or(policy);
    let eviction: EvictionConfig = match name {
        "foyer-fifo" => FifoConfig::default().into(),
        "foyer-lfu" => LfuConfig::default().into(),
        "foyer-lru" => LruConfig::default().into(),
        "foyer-s3fifo" => S3FifoConfig::default().into(),
        "foyer-sieve" => SieveConfig::default().into(),
        _ => return Err(format!("no policy {policy}")),
    };
    let mut builder = CacheBuilder::new(room.capacity as usize);
    if name != policy {
        builder = builder.with_shards(1);
    }
    Ok(builder.with_eviction_config(eviction).with_weighter(|_, size| *size as usize).build())
}

impl Cache for Foyer {
    fn get(&mut self, object: u64) -> bool {
        foyer_memory::Cache::get(self, &object).is_some()
    }
    fn insert(&mut self, object: u64, size: u32) {
        drop(foyer_memory::Cache::insert(self, object, size));
    }
    fn remove(&mut self, object: u64) {
        drop(foyer_memory::Cache::remove(self, &object));
    }
}
