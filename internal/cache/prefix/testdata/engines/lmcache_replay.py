"""Replays prompts and answers through LMCache's own lookup and store, with chunks in the memory of the host.

    python3 lmcache_replay.py FOLDER < workloads > hits

FOLDER has the package lmcache, as a wheel has it. Workloads and hits are as in vllm_replay.py, with "blocks" chunks of
"page" tokens. "policy" is the rule of eviction ({"name": "LFU", "save_decode_cache": true}). The calls are those of
LMCache's connector for vLLM: a prompt is looked up, its chunks are unpinned as soon as they have been loaded, and then
what it lacks is stored. Only the memory itself is counted here.
"""

import json
import sys
import threading
import types

import standins

standins.install(sys.argv[1], "lmcache", ["lmcache." + name for name in (
    "v1.cache_engine", "v1.token_database", "v1.storage_backend.abstract_backend", "v1.storage_backend.cache_policy",
    "v1.storage_backend.local_cpu_backend", "v1.storage_backend.storage_manager")])


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
module("torch", sum=lambda mask: mask, inference_mode=decorator, Tensor=type("Tensor", (), {}))
module("sortedcontainers", SortedDict=Sorted)
module("lmcache.observability", LMCStatsMonitor=types.SimpleNamespace(GetOrCreate=Watch))
module("lmcache.utils", CacheEngineKey=Key, _lmcache_nvtx_annotate=decorator)

from lmcache.v1.cache_engine import LMCacheEngine  # noqa: E402
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


for line in sys.stdin:
    workload = json.loads(line)
    server, hits = Server(workload["page"], workload["blocks"], workload["policy"]), []
    for event in workload["events"]:
        if event < 0:
            server.end(-1 - event)
        else:
            hits.append(server.begin(event, *workload["prompts"][event]))
    print(json.dumps(hits), flush=True)
