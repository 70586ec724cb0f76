"""Replays prompts and answers through LMCache's own lookup and store, with chunks in the memory of the host.

    python3 lmcache_replay.py FOLDER < workloads > hits

FOLDER has the package lmcache, as a wheel has it. Workloads and hits are as in vllm_replay.py, with "blocks" chunks of
"page" tokens. "policy" is the rule of eviction ({"name": "LFU", "save_decode_cache": true}). The calls are those of
LMCache's connector for vLLM: a prompt is looked up, its chunks are unpinned as soon as they have been loaded, and then
what it lacks is stored. Only the memory itself is counted here.

With "quotas" ({"limits": {"a": 10}, "watermark": 0.8, "ratio": 0.2}), chunks are in an L2 adapter under IsolatedLRU,
each prompt has a salt and a second in which it comes ("salts", "seconds"), and LMCache's controller looks at the quotas
once a second. Nothing stays in L1 (store policy skip_l1).
"""

import asyncio
import json
import sys
import threading
import types

import standins

standins.install(sys.argv[1], "lmcache", ["lmcache." + name for name in (
    "v1.cache_engine", "v1.token_database", "v1.storage_backend.abstract_backend", "v1.storage_backend.cache_policy",
    "v1.storage_backend.local_cpu_backend", "v1.storage_backend.storage_manager", "v1.distributed.api",
    "v1.distributed.eviction", "v1.distributed.eviction_policy", "v1.distributed.internal_api",
    "v1.distributed.l2_adapters.base", "v1.distributed.l2_adapters.mock_l2_adapter", "v1.distributed.quota_manager",
    "v1.distributed.storage_controllers.eviction_controller")])


class Key:
    """The key of a chunk (CacheEngineKey)."""

    def __init__(self, model, world, worker, chunk_hash, dtype, configs):
        self.chunk_hash = chunk_hash

    def __hash__(self):
        return self.chunk_hash

    def __eq__(self, other):
        return self.chunk_hash == other.chunk_hash


class Sorted(dict):
    """A dictionary in the order of its keys (SortedDict)."""

    def items(self):
        return [(key, self[key]) for key in sorted(self)]


class Mask(list):
    """Says which tokens are to be stored: those from one on."""

    def numel(self):
        return len(self)

    def long(self):
        return self

    def sum(self):
        return self

    def item(self):
        return list.count(self, True)


def module(name, **names):
    """Puts a stand-in with these names in the place of a module."""
    made = types.ModuleType(name)
    made.__getattr__ = lambda missing: standins.stand_in(missing)
    made.__dict__.update(names)
    sys.modules[name] = made


def decorator(*args, **kwargs):
    return args[0] if args and callable(args[0]) else decorator


class Watch:
    """Statistics, which nobody reads."""

    process_tokens_time = from_gpu_time = put_time = 0

    def __getattr__(self, name):
        return lambda *args, **kwargs: self

    def __enter__(self):
        return self

    def __exit__(self, *args):
        return False

    def time_to_store(self):
        return 1


sys.modules["vllm"] = None  # whose hashes are not needed
class Bits(set):
    """Says which of some keys were found (Bitmap)."""

    def __init__(self, size):
        super().__init__()

    set = set.add


module("lmcache.lmcache_native", Bitmap=Bits)
module("torch", sum=lambda mask: mask, inference_mode=decorator, Tensor=type("Tensor", (), {}))
module("sortedcontainers", SortedDict=Sorted)
module("lmcache.observability", LMCStatsMonitor=types.SimpleNamespace(GetOrCreate=Watch))
module("lmcache.utils", CacheEngineKey=Key, _lmcache_nvtx_annotate=decorator)

from lmcache.v1.cache_engine import LMCacheEngine  # noqa: E402
from lmcache.v1.distributed.api import ObjectKey  # noqa: E402
from lmcache.v1.distributed.l2_adapters.base import L2AdapterInterface  # noqa: E402
from lmcache.v1.distributed.l2_adapters.mock_l2_adapter import MockL2Adapter  # noqa: E402
from lmcache.v1.distributed.quota_manager import QuotaManager  # noqa: E402
from lmcache.v1.distributed.storage_controllers.eviction_controller import (  # noqa: E402
    L2AdapterEvictionState, L2EvictionController)
from lmcache.v1.storage_backend.cache_policy import get_cache_policy  # noqa: E402
from lmcache.v1.storage_backend.local_cpu_backend import LocalCPUBackend  # noqa: E402
from lmcache.v1.storage_backend.storage_manager import StorageManager  # noqa: E402
from lmcache.v1.token_database import ChunkedTokenDatabase  # noqa: E402


class Chunk:
    """The memory of a chunk (MemoryObj)."""

    def __init__(self, memory):
        self.memory, self.references, self.pins = memory, 1, 0

    def ref_count_up(self):
        self.references += 1

    def ref_count_down(self):
        self.references -= 1
        if self.references == 0:
            self.memory.free += 1

    def pin(self):
        self.pins += 1

    def unpin(self):
        self.pins -= 1

    def get_size(self):
        return 1

    can_evict = property(lambda self: self.pins == 0 and self.references == 1)


class Memory:
    """Has room for some chunks (MemoryAllocatorInterface)."""

    def __init__(self, chunks):
        self.free = chunks

    def allocate(self, shapes, dtypes, fmt):
        if self.free == 0:
            return None
        self.free -= 1
        return Chunk(self)


def bare(kind, **attributes):
    """An object of a class whose constructor would start threads and reserve memory."""
    made = kind.__new__(kind)
    made.__dict__.update(attributes)
    return made


class Server:
    def __init__(self, page, chunks, policy):
        self.page, self.decodes = page, policy["save_decode_cache"]
        config = types.SimpleNamespace(chunk_size=page, save_unfull_chunk=False,
                                       get_extra_config_value=lambda name, default: default)
        metadata = types.SimpleNamespace(model_name="", world_size=1, worker_id=0, kv_dtype=None,
                                         get_shapes=lambda tokens: None, get_dtypes=lambda: None)
        rule = get_cache_policy(policy["name"])
        store = bare(LocalCPUBackend, cache_policy=rule, hot_cache=rule.init_mutable_mapping(), use_hot=True,
                     memory_allocator=Memory(chunks), cpu_lock=threading.Lock(), stats_monitor=Watch(),
                     layerwise=False, enable_blending=False, keys_in_request=[], batched_msg_sender=None)
        manager = bare(StorageManager, storage_backends={"LocalCPUBackend": store}, allocator_backend=store,
                       _bypassed_backends=set(), _bypass_lock=threading.RLock(), _freeze=False,
                       _freeze_lock=threading.RLock(), internal_copy_stream=None)
        self.engine = bare(
            LMCacheEngine, config=config, metadata=metadata, storage_manager=manager, gpu_connector=Watch(),
            token_database=bare(ChunkedTokenDatabase, config=config, metadata=metadata, chunk_size=page,
                                hash_func=hash, save_only_first_rank=False),
            stats_monitor=Watch(), lookup_pins={}, use_layerwise=False, save_only_first_rank=False,
            kv_events_enabled=False, store_location=None, retrieve_locations=None, fmt=None, async_loading=None,
            kvcache_check_log_enabled=False, _health_monitor=None, _init_failed=False)

    def begin(self, number, prompt, answer):
        found = self.engine.lookup(prompt, lookup_id=number, pin=True)
        self.engine.lookup_unpin(number)
        saved = self.store(prompt, found)
        if self.decodes:
            written = prompt + answer[:-1]  # nothing is computed of the last one
            for length in range(len(prompt) + 1, len(written) + 1):
                saved = self.store(written[:length], saved)
        return found

    def store(self, tokens, saved):
        """Stores full chunks behind those that are saved (ReqMeta.from_request_tracker, wait_for_save)."""
        length = len(tokens) // self.page * self.page
        if length > saved:
            self.engine.store(tokens[:length], mask=Mask([False] * saved + [True] * (length - saved)))
        return max(saved, length)

    def end(self, number):
        pass


mock_l2_adapter = sys.modules[MockL2Adapter.__module__]


class Adapter(MockL2Adapter):
    """LMCache's adapter without its threads, and without an end."""

    def __init__(self):
        L2AdapterInterface.__init__(self, max_capacity_bytes=1 << 40)
        self._bandwidth_byte_ps = self._current_size_bytes = 0
        self._memory_objects, self._locked_keys = {}, mock_l2_adapter.defaultdict(int)
        self._completed_store_tasks, self._completed_lookup_tasks, self._completed_load_tasks = {}, {}, {}
        self._lock = threading.Lock()
        self._store_efd = self._lookup_efd = self._load_efd = Watch()


class Stored:
    """A chunk in an adapter, whose contents nobody reads."""

    tensor = types.SimpleNamespace(copy_=lambda other: None)

    def get_size(self):
        return 1 << 20


mock_l2_adapter.clone_tensor_memory_obj = lambda chunk: chunk


class Quotas:
    """An L2 adapter with quotas."""

    def __init__(self, workload):
        self.page, self.salts, self.seconds = workload["page"], workload["salts"], workload["seconds"]
        quotas, self.second, self.decodes = workload["quotas"], 0, workload["policy"]["save_decode_cache"]
        manager = QuotaManager()
        for salt, chunks in quotas["limits"].items():
            manager.set_quota(salt, chunks * Stored().get_size())
        self.adapter = Adapter()
        state = L2AdapterEvictionState(0, self.adapter, types.SimpleNamespace(
            eviction_policy="IsolatedLRU", trigger_watermark=quotas["watermark"], eviction_ratio=quotas["ratio"]))
        self.controller = L2EvictionController([state], quota_manager=manager)
        self.state = state

    def begin(self, number, prompt, answer):
        while self.second < self.seconds[number]:
            self.second += 1
            self.controller._check_and_evict(self.state)
        tokens = prompt + answer[:-1] if self.decodes else prompt
        keys = [ObjectKey(repr(tokens[:end]).encode(), "model", 0, cache_salt=self.salts[number])
                for end in range(self.page, len(tokens) + 1, self.page)]
        own = len(prompt) // self.page
        self.adapter._execute_lookup_in_the_loop(keys[:own], number)
        bits, found = self.adapter.query_lookup_and_lock_result(number), 0
        while found in bits:
            found += 1
        if found:
            asyncio.run(self.adapter._execute_load_in_loop(keys[:found], [Stored()] * found, number))
        for batch in [keys[found:own]] + [[key] for key in keys[own:]]:
            asyncio.run(self.adapter._execute_store_in_the_loop(batch, [Stored()] * len(batch), number))
        return found * self.page

    def end(self, number):
        pass


for line in sys.stdin:
    workload = json.loads(line)
    server, hits = None, []
    if "quotas" in workload:
        server = Quotas(workload)
    else:
        server = Server(workload["page"], workload["blocks"], workload["policy"])
    for event in workload["events"]:
        if event < 0:
            server.end(-1 - event)
        else:
            hits.append(server.begin(event, *workload["prompts"][event]))
    print(json.dumps(hits), flush=True)
