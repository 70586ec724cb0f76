"""Replays prompts and answers through SGLang's own UnifiedRadixCache.

    python3 sglang_replay.py FOLDER < workloads > hits

FOLDER has the package sglang, as a wheel has it. Workloads and hits are as in vllm_replay.py, with "blocks" pages of
"page" tokens. "policy" is the rule of eviction ({"name": "tlru", "threshold": 9, "next_prompt_estimate": 0}), and
"priorities" has a number per prompt. A prompt is matched, computed and inserted, and its answer decoded, when it
begins; the answer is inserted when it ends. Memory is taken by SGLang's own alloc_token_slots, and
alloc_paged_token_slots_extend and _decode, which evict; of pages, what they hand out is counted here.
"""

import json
import sys
import types

import standins

standins.install(sys.argv[1], "sglang", ["sglang.srt." + name for name in (
    "environ", "disaggregation.kv_events", "session.streaming_session", "utils.poll_timer", "mem_cache.allocation",
    "mem_cache.allocator.base", "mem_cache.allocator.token", "mem_cache.base_prefix_cache", "mem_cache.buffer_mode",
    "mem_cache.cache_init_params", "mem_cache.common", "mem_cache.events", "mem_cache.evict_policy",
    "mem_cache.hicache_storage", "mem_cache.radix_cache", "mem_cache.storage_prefetch", "mem_cache.unified_cache",
    "mem_cache.unified_radix_cache", "mem_cache.utils")])


class Tensor(list):
    """Numbers in a row: what the tree keeps of a node."""

    dtype, device = "int64", "cpu"

    def __getitem__(self, at):
        return Tensor(list.__getitem__(self, at)) if isinstance(at, slice) else list.__getitem__(self, at)

    def numel(self):
        return len(self)

    def clone(self):
        return Tensor(self)

    def to(self, *args, **kwargs):
        return Tensor(self)


def module(name, **names):
    """Puts a stand-in with these names in the place of a module."""
    made = types.ModuleType(name)
    made.__getattr__ = lambda missing: standins.stand_in(missing)
    made.__dict__.update(names)
    sys.modules[name] = made
    return made


class Factory:
    """Makes the default of a name of a Struct."""

    def __init__(self, default_factory):
        self.make = default_factory

    def __call__(self):
        return self.make()


class Struct:
    """As in msgspec: a class whose annotated names are the parameters of its constructor."""

    def __init_subclass__(cls, **kwargs):
        cls.names = [*getattr(cls, "names", ()), *cls.__dict__.get("__annotations__", ())]

    def __init__(self, *args, **kwargs):
        for name in self.names:
            value = getattr(type(self), name, None)
            setattr(self, name, value() if isinstance(value, Factory) else value)
        self.__dict__.update(zip(self.names, args), **kwargs)


def settings(**of):
    return lambda: types.SimpleNamespace(**of)


module("torch", Tensor=Tensor, int64="int64", empty=lambda *a, **k: Tensor(), tensor=lambda v, **k: Tensor(v),
       cat=lambda parts: Tensor(x for part in parts for x in part), arange=lambda a, b, **k: Tensor(range(a, b)),
       iinfo=lambda t: types.SimpleNamespace(max=(1 << 63) - 1), device=lambda name: name)
module("numpy", float64=float)
module("msgspec", Struct=Struct, field=Factory)
module("sglang.srt.utils.common", ceil_align=lambda n, to: -(-n // to) * to, is_npu=lambda: False)
module("sglang.srt.utils", is_cpu=lambda: False, is_cuda=lambda: True, is_hip=lambda: False, is_npu=lambda: False,
       is_xpu=lambda: False)
module("sglang.srt.utils.rank_consensus_checker", rank_consensus=lambda *a, **k: lambda f: f)
module("sglang.srt.mem_cache.allocator.page_interleave", page_interleave_shard_size=lambda allocator: 1)
module("sglang.srt.runtime_context", get_serving=settings(strip_thinking_cache=False),
       get_spec=settings(speculative_algorithm=None), get_disagg=settings(disaggregation_mode="null"))

import sglang.srt.mem_cache.allocation as allocation  # noqa: E402
import sglang.srt.mem_cache.common as common  # noqa: E402
from sglang.srt.mem_cache.allocator.base import BaseTokenToKVPoolAllocator  # noqa: E402
from sglang.srt.mem_cache.allocator.token import TokenToKVPoolAllocator  # noqa: E402
from sglang.srt.mem_cache.cache_init_params import CacheInitParams  # noqa: E402
from sglang.srt.mem_cache.unified_cache.component_type import ComponentType  # noqa: E402
from sglang.srt.mem_cache.unified_radix_cache import UnifiedRadixCache  # noqa: E402

UnifiedRadixCache.is_write_back = False  # HiCache is off


class Pages(BaseTokenToKVPoolAllocator):
    """A pool of pages, of which each request has its own, as PagedTokenToKVPoolAllocator."""

    def __init__(self, pages, page):
        super().__init__(pages * page, page, "int64", "cpu", None, False)
        self.clear()

    def clear(self):
        self.free_pages, self.release_pages = list(range(1, self.size // self.page_size + 1)), []

    def alloc(self, need_size):
        raise NotImplementedError

    def slots(self, last, prefix, length):
        """The places of tokens from one on; the last one before them is given."""
        out = Tensor()
        for at in range(prefix, length):
            last = self.free_pages.pop(0) * self.page_size if at % self.page_size == 0 else last + 1
            out.append(last)
        return out

    def alloc_extend(self, prefix_lens, prefix_lens_cpu, seq_lens, seq_lens_cpu, last_loc, extend_num_tokens):
        return self.slots(last_loc[0], prefix_lens[0], seq_lens[0])

    def alloc_decode(self, seq_lens, seq_lens_cpu, last_loc):
        return self.slots(last_loc[0], seq_lens[0] - 1, seq_lens[0])

    def free(self, free_index):
        for page in dict.fromkeys(slot // self.page_size for slot in free_index):
            assert page not in self.free_pages, "freed twice"
            self.free_pages.append(page)


class Rows:
    """The places of the tokens of running requests (ReqToTokenPool)."""

    def __init__(self):
        self.rows = {}
        self.req_to_token = self

    def __getitem__(self, at):
        return self.rows[at[0]][at[1]] if isinstance(at, tuple) else self.rows[at]

    def write(self, at, values):
        self.rows[at[0]][at[1]] = values

    def free(self, request):
        del self.rows[request.kv.req_pool_idx]
        request.kv.req_pool_idx = None


class Held(types.SimpleNamespace):
    """What a request holds (ReqKvInfo)."""

    holds_kv = property(lambda self: self.req_pool_idx is not None)
    is_kv_released = property(lambda self: self.kv_allocated_len == 0)

    def get_evicted_seqlen(self, component):
        return 0

    def swa_dead_lo(self, page_size):
        return self.cache_protected_len

    def mark_kv_released(self):
        self.kv_allocated_len = 0


class Request:
    """A request (Req), whose prompt is computed in one step."""

    extra_key = cache_salt = session = session_id = lock = kv_rotation_base = finished_reason = None
    skip_radix_cache_insert = False

    def __init__(self, number, prompt, priority):
        self.rid, self.origin_input_ids, self.output_ids, self.priority = number, prompt, [], priority
        self.kv = Held(req_pool_idx=None, cache_protected_len=0, cache_inserted_len=0, kv_allocated_len=0)
        self.refresh_fill_ids()

    def finished(self):
        return self.finished_reason is not None

    def refresh_fill_ids(self):
        self.full_untruncated_fill_ids = self.origin_input_ids + self.output_ids

    def owned_kv_len(self):
        return self.kv.kv_allocated_len

    def _compute_max_prefix_len(self, length):
        return max(0, length - 1)


class Server:
    def __init__(self, page, blocks, policy):
        self.page, self.rows, self.running = page, Rows(), {}
        options = dict(policy)
        pool = TokenToKVPoolAllocator(blocks, "int64", "cpu", None, False) if page == 1 else Pages(blocks, page)
        self.tree = UnifiedRadixCache(CacheInitParams(
            disable=False, req_to_token_pool=self.rows, token_to_kv_pool_allocator=pool, page_size=page,
            eviction_policy=options.pop("name"), eviction_policy_config=options,
            tree_components=(ComponentType.FULL,), tree_core_backend="python"))

    def begin(self, number, prompt, answer, priority):
        r = Request(number, prompt, priority)
        common.match_kv_cache(r, self.tree, r.full_untruncated_fill_ids, max_prefix_len=len(prompt) - 1)
        found = r.kv.cache_protected_len = r.prefix_len
        r.lock = self.tree.lock(r.last_node)
        row = self.tree.prefix_device_indices(r) if found else Tensor()
        row += self.extend(row, found, len(prompt))
        r.kv.req_pool_idx, self.rows.rows[number] = number, row
        r.kv.kv_allocated_len = r.extend_end = len(prompt)
        common.checkpoint_kv_cache(r, self.tree)
        for token in answer[:-1]:  # nothing is computed of the last one
            r.output_ids.append(token)
            row = self.rows.rows[number]
            row += self.decode(row)
            r.kv.kv_allocated_len += 1
        r.output_ids += answer[-1:]
        self.running[number] = r
        return found

    def extend(self, row, found, length):
        if self.page == 1:
            return allocation.alloc_token_slots(self.tree, length - found)
        return allocation.alloc_paged_token_slots_extend(
            self.tree, [found], [found], [length], [length], row[-1:] or [-1], length - found)

    def decode(self, row):
        if self.page == 1:
            return allocation.alloc_token_slots(self.tree, 1)
        length = [len(row) + 1]
        return allocation.alloc_paged_token_slots_decode(self.tree, length, length, row[-1:])

    def end(self, number):
        r = self.running.pop(number)
        r.finished_reason = "stop"
        common.release_kv_cache(r, self.tree, checkpoint=True)


for line in sys.stdin:
    workload = json.loads(line)
    server, hits = Server(workload["page"], workload["blocks"], workload["policy"]), []
    priorities = workload.get("priorities") or [0] * len(workload["prompts"])
    for event in workload["events"]:
        if event < 0:
            server.end(-1 - event)
        else:
            hits.append(server.begin(event, *workload["prompts"][event], priorities[event]))
    print(json.dumps(hits), flush=True)
