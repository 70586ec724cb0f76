"""Replays prompts and answers through SGLang's own UnifiedRadixCache.

    python3 sglang_replay.py FOLDER < workloads > hits

FOLDER has the package sglang, as a wheel has it. Workloads and hits are as in vllm_replay.py, with "blocks" pages of
"page" tokens. "policy" is the rule of eviction ({"name": "tlru", "threshold": 9, "next_prompt_estimate": 0}), and
"priorities" has a number per prompt. A prompt is matched, computed and inserted, and its answer decoded, when it
begins; the answer is inserted when it ends. Memory is taken by SGLang's own alloc_token_slots, and
alloc_paged_token_slots_extend and _decode, which evict; of pages, what they hand out is counted here.

With "states" ({"slots": 9, "grid": 64, "interval": 256, "chunk": 8192}), the model has layers with a state: the slots
for states, and after how many tokens of a prompt, and of an answer, there may be one; prompts are computed in chunks.
"""

import json
import math
import sys
import types

import standins

standins.install(sys.argv[1], "sglang", ["sglang.srt." + name for name in (
    "environ", "disaggregation.kv_events", "managers.schedule_batch", "session.streaming_session", "utils.poll_timer", "mem_cache.allocation",
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


class Slot(int):
    """The place of a state."""

    def unsqueeze(self, at):
        return Tensor([self])


module("torch", Tensor=Tensor, int64="int64", empty=lambda *a, **k: Tensor(), tensor=lambda v, **k: Tensor(v),
       cat=lambda parts: Tensor(x for part in parts for x in part), arange=lambda a, b, **k: Tensor(range(a, b)),
       iinfo=lambda t: types.SimpleNamespace(max=(1 << 63) - 1), device=lambda name: name)
module("numpy", float64=float)
module("msgspec", Struct=Struct, field=Factory)
module("sglang.srt.utils.common", ceil_align=lambda n, to: -(-n // to) * to, is_npu=lambda: False)
module("sglang.srt.utils", is_cpu=lambda: False, is_cuda=lambda: True, is_hip=lambda: False, is_npu=lambda: False,
       is_xpu=lambda: False)
module("sglang.srt.utils.rank_consensus_checker", rank_consensus=lambda *a, **k: lambda f: f)
module("sglang.srt.mem_cache.memory_pool")
module("sglang.srt.mem_cache.allocator.page_interleave", page_interleave_shard_size=lambda allocator: 1)
module("sglang.srt.runtime_context", get_serving=settings(strip_thinking_cache=False),
       get_spec=settings(speculative_algorithm=None), get_disagg=settings(disaggregation_mode="null"),
       get_parallel=settings(dcp_enabled=False), mamba_cache_chunk_size=lambda: states["grid"],
       mamba_checkpoint_grid=lambda page: math.lcm(states["grid"], page),
       get_exec=settings(mamba=types.SimpleNamespace(mamba_max_states_per_path=-1, enable_mamba_extra_buffer_lazy=False)))
states = {"grid": 1}

import sglang.srt.mem_cache.allocation as allocation  # noqa: E402
import sglang.srt.mem_cache.common as common  # noqa: E402
from sglang.srt.managers.schedule_batch import ScheduleBatch  # noqa: E402
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


class Slots:
    """Room for states (MambaSlotAllocator)."""

    def __init__(self, slots):
        self.slots = [Slot(i) for i in range(slots)]

    def alloc(self, number):
        if number > len(self.slots):
            return None
        taken, self.slots = self.slots[:number], self.slots[number:]
        return Tensor(taken)

    def free(self, slots):
        self.slots += slots

    def available_size(self):
        return len(self.slots)

    schedulable_available_size = available_size


class Rows:
    """The places of the tokens and states of running requests (HybridReqToTokenPool)."""

    mamba_ckpt_pool, mamba_ping_pong_track_buffer_size, mamba_initial_tracking_slots = None, 2, 2

    def __init__(self, slots):
        self.rows, self.mamba_allocator = {}, Slots(slots)
        self.req_to_token = self

    def take_states(self, request):
        kv = request.kv
        if not kv.holds_mamba:
            kv.mamba_pool_idx = self.mamba_allocator.alloc(1)[0]
        kv.mamba_ping_pong_track_buffer, kv.mamba_next_track_idx = self.mamba_allocator.alloc(2), 0

    def get_mamba_ping_pong_other_idx(self, at):
        return 1 - at

    def get_mamba_ping_pong_keep_idx(self, request):
        return request.kv.mamba_last_track_idx

    def donate_mamba_ping_pong_slot(self, request, slot):
        buffer, at = request.kv.mamba_ping_pong_track_buffer, request.kv.mamba_last_track_idx
        donated, buffer[at] = Tensor([buffer[at]]), slot[0]
        return donated

    def free_mamba_cache(self, request, mamba_ping_pong_track_buffer_to_keep=None):
        kv = request.kv
        self.mamba_allocator.free([kv.mamba_pool_idx] + [
            slot for i, slot in enumerate(kv.mamba_ping_pong_track_buffer) if i != mamba_ping_pong_track_buffer_to_keep])
        kv.mamba_pool_idx = None

    def __getitem__(self, at):
        return self.rows[at[0]][at[1]] if isinstance(at, tuple) else self.rows[at]

    def write(self, at, values):
        self.rows[at[0]][at[1]] = values

    def free(self, request):
        del self.rows[request.kv.req_pool_idx]
        request.kv.req_pool_idx = None


sys.modules["sglang.srt.mem_cache.memory_pool"].HybridReqToTokenPool = allocation.HybridReqToTokenPool = Rows


class Held(types.SimpleNamespace):
    """What a request holds (ReqKvInfo)."""

    holds_kv = property(lambda self: self.req_pool_idx is not None)
    holds_mamba = property(lambda self: self.mamba_pool_idx is not None)
    mamba_pool_idx = mamba_ping_pong_track_buffer = mamba_last_track_seqlen = mamba_prev_track_seqlen = None
    mamba_last_track_idx = 0
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
    mamba_branching_seqlen = None
    skip_radix_cache_insert = False
    extend_len = property(lambda self: self.extend_end - self.prefix_len)

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
    def __init__(self, page, blocks, policy, states):
        self.page, self.rows, self.running, self.states = page, Rows(states["slots"] if states else 0), {}, states
        options = dict(policy)
        pool = TokenToKVPoolAllocator(blocks, "int64", "cpu", None, False) if page == 1 else Pages(blocks, page)
        self.tree = UnifiedRadixCache(CacheInitParams(
            disable=False, req_to_token_pool=self.rows, token_to_kv_pool_allocator=pool, page_size=page,
            eviction_policy=options.pop("name"), eviction_policy_config=options,
            tree_components=(ComponentType.FULL, ComponentType.MAMBA) if states else (ComponentType.FULL,),
            enable_mamba_extra_buffer=bool(states), tree_core_backend="python"))

        self.batch = types.SimpleNamespace(tree_cache=self.tree, req_to_token_pool=self.rows, model_config=settings(
            hf_text_config=types.SimpleNamespace(mamba_chunk_size=states["grid"] if states else 0))())

    def begin(self, number, prompt, answer, priority):
        r = Request(number, prompt, priority)
        common.match_kv_cache(r, self.tree, r.full_untruncated_fill_ids, cow_mamba=bool(self.states),
                              max_prefix_len=len(prompt) - 1)
        found = r.kv.cache_protected_len = r.prefix_len
        r.lock = self.tree.lock(r.last_node)
        self.rows.rows[number] = self.tree.prefix_device_indices(r) if found else Tensor()
        if self.states:
            allocation.ensure_mamba_capacity(self.rows, [r], self.tree)
            self.rows.take_states(r)
        r.kv.req_pool_idx, chunk = number, self.states["chunk"] if self.states else len(prompt)
        while r.prefix_len < len(prompt):
            r.extend_end = min(len(prompt), r.prefix_len + chunk)
            self.rows.rows[number] += self.extend(self.rows.rows[number], r.prefix_len, r.extend_end)
            r.kv.kv_allocated_len = r.extend_end
            if self.states:
                ScheduleBatch._mamba_radix_cache_v2_req_prepare_for_extend(self.batch, r)
            common.checkpoint_kv_cache(r, self.tree)
        for token in answer[:-1]:  # nothing is computed of the last one
            r.output_ids.append(token)
            row = self.rows.rows[number]
            row += self.decode(row)
            r.kv.kv_allocated_len += 1
            if self.states and r.kv.kv_allocated_len % self.states["interval"] == 0:
                r.kv.mamba_last_track_idx = 0  # either of the two (_handle_finish_state_updated_req)
                r.kv.mamba_last_track_seqlen = r.kv.kv_allocated_len
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
    states = workload.get("states") or {"grid": 1}
    server, hits = Server(workload["page"], workload["blocks"], workload["policy"], workload.get("states")), []
    priorities = workload.get("priorities") or [0] * len(workload["prompts"])
    for event in workload["events"]:
        if event < 0:
            server.end(-1 - event)
        else:
            hits.append(server.begin(event, *workload["prompts"][event], priorities[event]))
    print(json.dumps(hits), flush=True)
