"""Replays prompts and answers through vLLM's own KVCacheManager.

    python3 vllm_replay.py FOLDER < workloads > hits

FOLDER has the package vllm, as a wheel has it. Each line of standard input is a workload: {"page": 16, "blocks": 100,
"windows": [0, 64], "prompts": [[[1, 2], [3]]], "events": [0, -1]}: the windows of the groups of layers (0 for layers
that attend to all tokens), the tokens of each prompt and of its answer, and in which order they begin (i) and end
(-1-i). A line of the tokens that each prompt found is written for it.
"""

import json
import sys
import types

import standins

standins.install(sys.argv[1], "vllm", [
    "vllm.v1.core", "vllm.v1.request", "vllm.v1.kv_cache_interface", "vllm.v1.kv_cache_spec_registry",
    "vllm.v1.kv_cache_layout", "vllm.v1.hisparse.block_pool", "vllm.utils.math_utils", "vllm.v1.metrics.stats",
    "vllm.v1.utils",
])

from vllm.v1.core.kv_cache_manager import KVCacheManager  # noqa: E402
from vllm.v1.core.kv_cache_utils import get_request_block_hasher, init_none_hash  # noqa: E402
from vllm.v1 import kv_cache_interface as kv  # noqa: E402
from vllm.v1 import request as requests  # noqa: E402

requests.length_from_prompt_token_ids_or_embeds = lambda tokens, embeds: len(tokens)


def digest(value):
    return hash(value).to_bytes(8, "little", signed=True)


def parameters():
    return types.SimpleNamespace(max_tokens=1 << 20, extra_args=None, skip_reading_prefix_cache=None,
                                 structured_outputs=None)


class Server:
    def __init__(self, page, blocks, windows):
        groups = []
        for i, window in enumerate(windows):
            of = dict(block_size=page, num_kv_heads=1, head_size=1, dtype=None)
            spec = kv.SlidingWindowSpec(sliding_window=window, **of) if window else kv.FullAttentionSpec(**of)
            groups.append(kv.KVCacheGroupSpec([f"layer {i}"], spec))
        config = kv.KVCacheConfig(num_blocks=blocks + 1, kv_cache_tensors=[], kv_cache_groups=groups,  # one is reserved
                               prefix_cache_retention_interval=0)
        self.manager = KVCacheManager(config, max_model_len=1 << 30, scheduler_block_size=page, hash_block_size=page)
        self.hasher = get_request_block_hasher(page, digest)
        self.running = {}

    def begin(self, i, prompt, answer):
        request = requests.Request(str(i), list(prompt), parameters(), None, block_hasher=self.hasher)
        request.structured_output_request = None
        blocks, found, request.shared_prefix_boundary = self.manager.get_computed_blocks(request)
        if self.manager.allocate_slots(request, len(prompt) - found, found, blocks) is None:
            raise MemoryError("the prompt has no room")
        request.num_computed_tokens = len(prompt)
        for token in answer[:-1]:  # nothing is computed of the last one
            request.append_output_token_ids(token)
            if self.manager.allocate_slots(request, 1) is None:
                raise MemoryError("the answer has no room")
            request.num_computed_tokens += 1
        self.running[i] = request
        return found

    def end(self, i):
        self.manager.free(self.running.pop(i))


init_none_hash(digest)
for line in sys.stdin:
    workload = json.loads(line)
    server, hits = Server(workload["page"], workload["blocks"], workload["windows"]), []
    for event in workload["events"]:
        if event < 0:
            server.end(-1 - event)
        else:
            hits.append(server.begin(event, *workload["prompts"][event]))
    print(json.dumps(hits), flush=True)
