#!/usr/bin/env python3
"""Records an attention trace of a language model: what cachesim calls queries, keys and values of decode steps.

MODEL is a model for transformers (its name on the Hugging Face hub, or a folder), which needs torch and transformers,
or a file .gguf, which needs NumPy alone. The model reads the first CONTEXT tokens of a text, then decodes STEPS tokens,
and the queries of these steps are stored with the keys and values of all tokens, as float16:

  attention-trace.py HuggingFaceTB/SmolLM2-135M --text book.txt -o book
  attention-trace.py SmolLM2-135M.Q8_0.gguf --text book.txt --layers 0,4,8-11 -o book
  cachesim stat book
"""
import argparse
import hashlib
import json
import os
import re
import shutil
import struct
import sys

try:
    import numpy as np
except ImportError:
    sys.exit("attention-trace: NumPy is missing: pip install -r tools/attention-trace.requirements.txt")

BLOCK = 128  # tokens that are computed at a time, which bounds the memory of scores: BLOCK * heads * tokens


class Refused(Exception):
    """What was found, what was expected, and what to do."""


def progress(text):
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


# ---------------------------------------------------------------- the trace


class Trace:
    """The arrays of a trace. They are on disk from the start, under a temporary name, so that memory holds no layer."""

    def __init__(self, out, layers, context, steps, predicted):
        self.out, self.partial = out, out + ".partial"
        self.layers, self.context, self.steps, self.predicted = layers, context, steps, predicted
        self.arrays, self.shape, self.scale, self.begun = {}, None, None, False
        for path, why in ((out, "name another output, or remove it"),
                          (self.partial, "another recording writes it, or one was cut off and left it: remove it")):
            if os.path.lexists(path):
                raise Refused(f"{path} exists: {why}")

    def check(self, model, layers, longest):
        """Refuses what the model cannot give: it has so many layers, and reads so many tokens at most."""
        self.model = model
        if self.layers is None:
            self.layers = list(range(layers))
        if self.layers[-1] >= layers:
            raise Refused(f"--layers: the model has no layer {self.layers[-1]}, it has layers 0 to {layers - 1}")
        if self.tokens() > longest:
            raise Refused(f"{self.context} tokens of prompt and {self.steps} steps: the model reads at most {longest} "
                          "tokens, lower --context or --steps")

    def tokens(self):
        return self.context + self.steps

    def predicts(self, layer, last):
        """Whether queries of a layer must be predicted for tokens before last."""
        return self.predicted and layer in self.layers and layer > 0 and last > self.context

    def record(self, layer, first, scale, q, k, v, p):
        """Keeps the rows of a layer for the tokens from first on: (tokens, heads, numbers), after RoPE.
        p may be None where no query is predicted."""
        shape = q.shape[1:], k.shape[1:], v.shape[1:]
        if self.shape is None:
            self.shape, self.scale = shape, scale
            self.begin(*shape)
        elif (shape, scale) != (self.shape, self.scale):
            raise Refused(f"layer {layer} has heads of queries, keys and values (number, size) {shape} and scale "
                          f"{scale:g}, but layers before it {self.shape} and {self.scale:g}: choose layers that are "
                          "alike, with --layers")
        last = first + len(k)
        for part, rows in (("k", k), ("v", v)):
            self.arrays[part, layer][:, first:last] = halves(rows, part, layer, first).transpose(1, 0, 2)
        steps = slice(max(0, first - self.context), last - self.context)
        if steps.stop > 0:
            wanted = [("q", q)] + [("p", q if layer == 0 else p)] * self.predicted
            for part, rows in wanted:
                rows = rows[len(rows) - (steps.stop - steps.start):]
                self.arrays[part, layer][steps] = halves(rows, part, layer, self.context + steps.start)

    def begin(self, q, k, v):
        if k != v or q[1] != k[1] or q[0] % k[0]:
            raise Refused(f"the heads of queries, keys and values are (number, size) {q}, {k} and {v}: a trace has "
                          "keys and values of one size, and as many query heads for each of them")
        queries, keys = (self.steps, *q), (k[0], self.tokens(), k[1])
        shapes = {(part, layer): queries if part in "qp" else keys
                  for layer in self.layers for part in "qpkv" if part != "p" or self.predicted}
        if self.out.endswith(".safetensors"):
            self.begin_tensors(shapes)
            return
        os.mkdir(self.partial)
        self.begun = True
        for (part, layer), shape in shapes.items():
            path = os.path.join(self.partial, f"{part}.L{layer:02d}.npy")
            self.arrays[part, layer] = np.lib.format.open_memmap(path, "w+", "<f2", shape)

    def begin_tensors(self, shapes):
        header = {"__metadata__": {"context": str(self.context), "scale": repr(self.scale), "model": self.model}}
        at = 0
        for (part, layer), shape in shapes.items():
            end = at + 2 * int(np.prod(shape, dtype=np.int64))
            header[f"{part}.L{layer:02d}"] = {"dtype": "F16", "shape": shape, "data_offsets": [at, end]}
            at = end
        text = json.dumps(header).encode()
        text = text.ljust(-(-len(text) // 8) * 8)
        with open(self.partial, "xb") as file:
            self.begun = True
            file.write(struct.pack("<Q", len(text)) + text)
            file.truncate(8 + len(text) + at)
        for (part, layer), shape in shapes.items():
            offset = 8 + len(text) + header[f"{part}.L{layer:02d}"]["data_offsets"][0]
            self.arrays[part, layer] = np.memmap(self.partial, "<f2", "r+", offset, shape)

    def finish(self, about, tokens):
        for array in self.arrays.values():
            array.flush()
        (heads, size), (kv_heads, _), _ = self.shape
        if os.path.isdir(self.partial):
            meta = {"model": {"general.name": self.model}, **about, "context": self.context, "steps": self.steps,
                    "layers_stored": self.layers, "query_heads": heads, "kv_heads": kv_heads, "head_dim": size,
                    "scale": self.scale}
            with open(os.path.join(self.partial, "meta.json"), "x", encoding="utf-8") as file:
                json.dump(meta, file, indent=1)
            np.save(os.path.join(self.partial, "tokens.npy"), np.array(tokens, np.int32))
        os.rename(self.partial, self.out)
        print(f"{self.out}: {len(self.layers)} layers, {heads} query heads on {kv_heads} KV heads of {size} numbers, "
              f"{self.context} tokens of prompt and {self.steps} steps")

    def discard(self):
        """Removes what is not finished."""
        self.arrays.clear()
        if self.begun and os.path.isdir(self.partial):
            shutil.rmtree(self.partial)
        elif self.begun:
            os.remove(self.partial)


def halves(rows, part, layer, first):
    """Rows as float16, which cachesim reads if they are finite and no query or key is all zeros."""
    with np.errstate(over="ignore"):
        out = rows.astype("<f2")
    bad = ~np.isfinite(out).all((1, 2))
    what = "numbers that are not finite, or beyond 65504, the largest float16"
    if part != "v" and not bad.any():
        bad, what = ~out.any(2).all(1), "zeros alone, which have no direction"
    if bad.any():
        name = {"q": "query", "p": "predicted query", "k": "key", "v": "value"}[part]
        raise Refused(f"layer {layer}, token {first + int(bad.argmax())}: a {name} has {what}: leave the layer out "
                      "with --layers, or take another text")
    return out


# ---------------------------------------------------------------- transformers


class HuggingFace:
    """A causal model of transformers. Its attention goes through a function of ours, which sees what RoPE made of
    queries and keys, and then calls the model's own."""

    def __init__(self, path, device, dtype, trace):
        try:
            import torch
            import transformers
            from transformers.masking_utils import AttentionMaskInterface, eager_mask
        except ImportError as e:
            raise Refused(f"{path} does not end in .gguf, so transformers must load it, but {e}: pip install -r "
                          "tools/attention-trace.requirements.txt") from None
        transformers.AttentionInterface.register("attention_trace", self.attend)
        AttentionMaskInterface.register("attention_trace", eager_mask)
        transformers.logging.set_verbosity_error()
        transformers.logging.disable_progress_bar()
        self.torch, self.transformers, self.path, self.device, self.trace = torch, transformers, path, device, trace
        try:
            model = transformers.AutoModelForCausalLM.from_pretrained(path, dtype=getattr(torch, dtype),
                                                                      attn_implementation="attention_trace")
        except (OSError, ValueError, KeyError) as e:
            raise Refused(f"{path}: transformers cannot load it as a causal model: {e}") from None
        self.model = model.to(device).eval()
        self.config = self.model.config.get_text_config()
        if not any("Rotary" in type(m).__name__ for m in self.model.modules()):
            raise Refused(f"{path}: {type(model).__name__} has no rotary embedding (RoPE): want a model with one, such "
                          "as Llama, Qwen, Mistral or Gemma")
        name = os.path.basename(os.path.abspath(path)) if os.path.isdir(path) else path
        trace.check(name, self.config.num_hidden_layers, self.config.max_position_embeddings)
        self.hook()
        self.cache = transformers.DynamicCache(config=self.config)
        self.place = 0  # of the first token of a call
        self.inputs = [None, None]  # of the layer before, and of this one
        self.prediction, self.predicting = None, False

    def hook(self):
        count = self.config.num_hidden_layers
        lists = [m for m in self.model.modules() if isinstance(m, self.torch.nn.ModuleList) and len(m) == count]
        attention = [next((m for m in layer.modules() if m is not layer and hasattr(m, "layer_idx")), None)
                     for layer in lists[0]] if lists else [None]
        if None in attention:
            raise Refused(f"{self.path}: {type(self.model).__name__} has no list of layers with attention in each")
        self.norms = [getattr(layer, "input_layernorm", None) for layer in lists[0]]
        if self.trace.predicted and None in self.norms:
            raise Refused(f"{self.path}: layers of {type(self.model).__name__} have no input_layernorm, so queries "
                          "cannot be predicted from the input of the layer before: use --no-predicted")
        for layer, module in zip(lists[0], attention):
            layer.register_forward_pre_hook(self.before_layer, with_kwargs=True)
            module.register_forward_pre_hook(self.before_attention, with_kwargs=True)

    def before_layer(self, _, args, kwargs):
        self.inputs = [self.inputs[1], args[0] if args else kwargs["hidden_states"]]

    def before_attention(self, module, args, kwargs):
        """Has the attention compute the query for the normed input of the layer before, without the cache."""
        last = self.place + self.inputs[1].shape[1]
        if args or not self.trace.predicts(module.layer_idx, last):
            return
        kwargs = {name: None if name.startswith("past_key_value") else value for name, value in kwargs.items()}
        kwargs["hidden_states"] = self.norms[module.layer_idx](self.inputs[0])
        self.predicting = True
        module.forward(**kwargs)
        self.predicting = False

    def attend(self, module, query, key, value, attention_mask, **kwargs):
        if self.predicting:
            self.prediction = query
            return query.transpose(1, 2), None
        count, layer = query.shape[2], module.layer_idx
        if layer in self.trace.layers:
            self.check(layer, count, key, attention_mask, kwargs)
            rows = [x[0, :, -count:].transpose(0, 1).float().cpu().numpy() for x in (query, key, value)]
            p = self.prediction
            if p is not None:
                p = p[0].transpose(0, 1).float().cpu().numpy()
            scale = kwargs.get("scaling") or query.shape[3] ** -0.5
            self.trace.record(layer, self.place, float(scale), *rows, p)
        self.prediction = None
        own = sys.modules[type(module).__module__].eager_attention_forward
        return own(module, query, key, value, attention_mask, **kwargs)

    def check(self, layer, count, key, mask, kwargs):
        """A trace states that a step attends to all tokens before it by products alone."""
        if key.shape[2] != self.place + count or mask is not None and bool((mask[0, 0, -1] < 0).any()):
            raise Refused(f"layer {layer} attends to the latest tokens only (a sliding window or chunks), but steps of "
                          "a trace attend to all: leave it out with --layers, or lower --context and --steps")
        for name, what in (("softcap", "bounds its products"), ("s_aux", "has a sink besides its tokens")):
            if kwargs.get(name) is not None and self.place == 0:
                print(f"attention-trace: warning: layer {layer} {what} ({name}), which a trace does not state: weights "
                      "that are computed from it are a little different", file=sys.stderr)

    def encode(self, text):
        return self.transformers.AutoTokenizer.from_pretrained(self.path)(text).input_ids

    def words(self):
        return self.config.vocab_size

    def ends(self):
        ends = self.model.generation_config.eos_token_id
        return ends if isinstance(ends, list) else [] if ends is None else [ends]

    def about(self):
        return {"layers": self.config.num_hidden_layers, "dtype": str(self.model.dtype).removeprefix("torch."),
                "software": f"torch {self.torch.__version__}, transformers {self.transformers.__version__}"}

    def forward(self, tokens):
        """Reads tokens after those that it has read. Returns the logits of the last one."""
        with self.torch.inference_mode():
            for at in range(0, len(tokens), BLOCK):
                ids = self.torch.tensor([tokens[at:at + BLOCK]], device=self.device)
                out = self.model(input_ids=ids, past_key_values=self.cache, use_cache=True, logits_to_keep=1)
                self.place += ids.shape[1]
                progress(f"token {self.place} of {self.trace.tokens()}")
                if self.trace.shape is None:
                    raise Refused(f"{self.path}: the attention of {type(self.model).__name__} does not go through the "
                                  "attention interface of transformers, so it cannot be recorded")
        return out.logits[0, -1].float().cpu().numpy()


# ---------------------------------------------------------------- GGUF


def floats(kind):
    return lambda b: b.view(kind).astype(np.float32)


def half(b, at):
    """A number of each block, as a column."""
    return b[:, at:at + 2].copy().view("<f2").astype(np.float32)


def nibbles(b):
    """The lower halves of all bytes, then the upper ones."""
    return np.concatenate([b & 15, b >> 4], 1).astype(np.float32)


def bits(b):
    return np.unpackbits(np.ascontiguousarray(b), axis=1, bitorder="little").astype(np.float32)


def six_bits(b):
    """Scales and minima of the 8 parts of a block of Q4_K and Q5_K, which 12 bytes pack."""
    low, middle, high = b[:, 0:4], b[:, 4:8], b[:, 8:12]
    return (np.concatenate([low & 63, high & 15 | low >> 6 << 4], 1).astype(np.float32),
            np.concatenate([middle & 63, high >> 4 | middle >> 6 << 4], 1).astype(np.float32))


def k_quants(b, q):
    scale, low = six_bits(b[:, 4:16])
    q = q.reshape(-1, 8, 32)
    return ((half(b, 0) * scale)[..., None] * q - (half(b, 2) * low)[..., None]).reshape(-1, 256)


def q4_k(b):
    return k_quants(b, np.stack([b[:, 16:].reshape(-1, 4, 32) >> s & 15 for s in (0, 4)], 2).astype(np.float32))


def q5_k(b):
    q = np.stack([b[:, 48:].reshape(-1, 4, 32) >> s & 15 for s in (0, 4)], 2).reshape(-1, 8, 32)
    upper = np.stack([b[:, 16:48] >> s & 1 for s in range(8)], 1)
    return k_quants(b, (q | upper << 4).astype(np.float32))


def q6_k(b):
    low = np.stack([b[:, :128].reshape(-1, 2, 64) >> s & 15 for s in (0, 4)], 2).reshape(-1, 2, 4, 32)
    high = np.stack([b[:, 128:192].reshape(-1, 2, 32) >> s & 3 for s in (0, 2, 4, 6)], 2)
    q = (low | high << 4).astype(np.float32).reshape(-1, 16, 16) - 32
    scale = half(b, 208) * b[:, 192:208].view("i1")
    return (scale[..., None] * q).reshape(-1, 256)


# Of each type of a tensor: its name, numbers and bytes of a block, and what makes float32 of blocks.
TYPES = {
    0: ("F32", 1, 4, floats("<f4")),
    1: ("F16", 1, 2, floats("<f2")),
    2: ("Q4_0", 32, 18, lambda b: half(b, 0) * (nibbles(b[:, 2:]) - 8)),
    3: ("Q4_1", 32, 20, lambda b: half(b, 0) * nibbles(b[:, 4:]) + half(b, 2)),
    6: ("Q5_0", 32, 22, lambda b: half(b, 0) * (nibbles(b[:, 6:]) + 16 * bits(b[:, 2:6]) - 16)),
    7: ("Q5_1", 32, 24, lambda b: half(b, 0) * (nibbles(b[:, 8:]) + 16 * bits(b[:, 4:8])) + half(b, 2)),
    8: ("Q8_0", 32, 34, lambda b: half(b, 0) * b[:, 2:].view("i1")),
    12: ("Q4_K", 256, 144, q4_k),
    13: ("Q5_K", 256, 176, q5_k),
    14: ("Q6_K", 256, 210, q6_k),
    30: ("BF16", 1, 2, lambda b: (b.view("<u2").astype("<u4") << 16).view("<f4")),
}
SCALARS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}


class File:
    """A GGUF file: its fields, and its tensors as float32."""

    def __init__(self, path):
        self.path = path
        with open(path, "rb") as file:
            magic, version = file.read(4), file.read(4)
        if magic != b"GGUF" or version not in (b"\2\0\0\0", b"\3\0\0\0"):
            raise Refused(f"{path}: begins with {magic + version!r}: want a file of GGUF version 2 or 3")
        self.data, self.at = np.memmap(path, np.uint8, "r"), 8
        try:
            tensors, fields = self.read("<Q"), self.read("<Q")
            self.fields = {self.text(): self.value(self.read("<I")) for _ in range(fields)}
            self.tensors = {self.text(): self.entry() for _ in range(tensors)}
        except (struct.error, KeyError, UnicodeDecodeError):
            raise Refused(f"{path}: its header is cut off or damaged at byte {self.at}: copy the file again") from None
        align = self.fields.get("general.alignment", 32)
        self.begin = -(-self.at // align) * align

    def read(self, kind):
        value, = struct.unpack_from(kind, self.data, self.at)
        self.at += struct.calcsize(kind)
        return value

    def text(self):
        size = self.read("<Q")
        self.at += size
        return bytes(self.data[self.at - size:self.at]).decode()

    def value(self, kind):
        if kind == 8:
            return self.text()
        if kind == 9:
            kind, count = self.read("<I"), self.read("<Q")
            return [self.value(kind) for _ in range(count)]
        return self.read(SCALARS[kind])

    def entry(self):
        lengths = [self.read("<Q") for _ in range(self.read("<I"))]
        return lengths[::-1], self.read("<I"), self.read("<Q")

    def get(self, name):
        if name not in self.fields:
            raise Refused(f"{self.path}: has no field {name}: want a model as llama.cpp converts it")
        return self.fields[name]

    def tensor(self, name, rows=slice(None)):
        """Rows of a tensor; all of them by default. Only these are made float32."""
        if name not in self.tensors:
            raise Refused(f"{self.path}: has no tensor {name}: want a dense model of the Llama family")
        shape, kind, offset = self.tensors[name]
        if kind not in TYPES:
            raise Refused(f"{self.path}: the numbers of {name} have type {kind} of GGUF: want "
                          f"{', '.join(t[0] for t in TYPES.values())}: quantise the model to one of these")
        _, numbers, size, decode = TYPES[kind]
        width = shape[-1] // numbers * size
        begin, count = self.begin + offset, int(np.prod(shape[:-1], dtype=np.int64))
        if shape[-1] % numbers or begin + count * width > len(self.data):
            raise Refused(f"{self.path}: tensor {name} of shape {shape} is cut off or damaged: copy the file again")
        raw = np.array(self.data[begin:begin + count * width].reshape(count, width)[rows])
        values = decode(raw.reshape(-1, size))
        return values.reshape(shape if len(shape) == 1 else (len(raw), shape[-1]))


# Of each architecture whether RoPE turns pairs of neighbouring numbers; otherwise it pairs the two halves of a head.
ARCHITECTURES = {"llama": True, "qwen2": False, "qwen3": False}
PARTS = ["attn_norm", "attn_q", "attn_k", "attn_v", "attn_output", "ffn_norm", "ffn_gate", "ffn_up", "ffn_down"]


class Gguf:
    """A model of the Llama family, computed in float32. A text is computed layer by layer, so that memory holds the
    weights, keys and values of one layer, and the input of all tokens. Greedy decoding holds those of all layers."""

    def __init__(self, path, greedy, trace):
        f = self.file = File(path)
        self.trace, self.greedy, self.kept, self.place = trace, greedy, {}, 0
        arch = f.get("general.architecture")
        if arch not in ARCHITECTURES:
            raise Refused(f"{path}: a model of architecture {arch}: want {', '.join(ARCHITECTURES)}; transformers may "
                          "read the model it was made from")
        self.neighbours = ARCHITECTURES[arch]
        of = {name.removeprefix(arch + "."): value for name, value in f.fields.items() if name.startswith(arch + ".")}
        for name, least in (("expert_count", 0), ("rope.scaling.type", "none")):
            if of.get(name, least) not in (least, ""):
                raise Refused(f"{path}: {arch}.{name} is {of[name]}: want a dense model whose RoPE is not scaled, or "
                              "the model it was made from, with transformers")
        if trace.tokens() > (window := of.get("attention.sliding_window") or trace.tokens()):
            raise Refused(f"{path}: its layers attend to the latest {window} tokens only, but steps of a trace attend "
                          "to all: lower --context and --steps")
        self.layers, self.heads = f.get(arch + ".block_count"), f.get(arch + ".attention.head_count")
        self.kv_heads = of.get("attention.head_count_kv", self.heads)
        self.size = of.get("attention.key_length", f.get(arch + ".embedding_length") // self.heads)
        self.eps = f.get(arch + ".attention.layer_norm_rms_epsilon")
        name = f.fields.get("general.name") or os.path.basename(path)
        trace.check(name, self.layers, f.get(arch + ".context_length"))
        turned = of.get("rope.dimension_count", self.size)
        turn = of.get("rope.freq_base", 10000.0) ** (-np.arange(0, turned, 2) / turned)
        if "rope_freqs.weight" in f.tensors:
            turn = turn / f.tensor("rope_freqs.weight")
        angle = np.arange(trace.tokens())[:, None, None] * turn
        self.cos, self.sin = np.cos(angle).astype(np.float32), np.sin(angle).astype(np.float32)

    def encode(self, text):
        return Tokenizer(self.file).encode(text)

    def words(self):
        return self.file.tensors["token_embd.weight"][0][0]

    def ends(self):
        return [self.file.fields[name] for name in ("tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id")
                if name in self.file.fields]

    def about(self):
        return {"layers": self.layers, "dtype": "float32", "software": f"numpy {np.__version__}"}

    def layer(self, i):
        """The weights of a layer, and room for its keys and values."""
        if i in self.kept:
            return self.kept[i]
        begin = f"blk.{i}."
        names = [f"{begin}{part}.weight" for part in PARTS]
        names += [name for name in self.file.tensors if name.startswith(begin) and name not in names]
        w = {name.removeprefix(begin): self.file.tensor(name) for name in names}
        state = w, np.zeros((2, self.kv_heads, self.trace.tokens(), self.size), np.float32)
        if self.greedy:
            self.kept[i] = state
        return state

    def norm(self, x, weight):
        return x / np.sqrt(np.square(x).mean(-1, keepdims=True) + self.eps) * weight

    def project(self, x, w, part, heads):
        y = x @ w[f"attn_{part}.weight"].T + w.get(f"attn_{part}.bias", np.float32(0))
        y = y.reshape(len(x), heads, self.size)
        return self.norm(y, w[f"attn_{part}_norm.weight"]) if f"attn_{part}_norm.weight" in w else y

    def rope(self, x, first):
        cos, sin = self.cos[first:first + len(x)], self.sin[first:first + len(x)]
        turned = 2 * cos.shape[-1]
        low, high = np.s_[..., :turned:2], np.s_[..., 1:turned:2]
        if not self.neighbours:
            low, high = np.s_[..., :turned // 2], np.s_[..., turned // 2:turned]
        y = x.copy()
        y[low], y[high] = x[low] * cos - x[high] * sin, x[low] * sin + x[high] * cos
        return y

    def attend(self, q, keys, values, first):
        """softmax(scale * q k) v, for queries of the tokens from first on."""
        out, group = np.empty_like(q), self.heads // self.kv_heads
        hidden = np.arange(first + len(q)) > np.arange(first, first + len(q))[:, None]
        for head in range(self.heads):
            scores = q[:, head] @ keys[head // group].T * np.float32(self.size ** -0.5)
            scores[hidden] = -np.inf
            np.exp(scores - scores.max(1, keepdims=True), out=scores)
            out[:, head] = scores / scores.sum(1, keepdims=True) @ values[head // group]
        return out.reshape(len(q), -1)

    def block(self, i, x, before, first):
        """The output of layer i for its input x at tokens from first on; before is the input of the layer before."""
        w, (keys, values) = self.layer_now
        last = first + len(x)
        h = self.norm(x, w["attn_norm.weight"])
        q = self.rope(self.project(h, w, "q", self.heads), first)
        k = self.rope(self.project(h, w, "k", self.kv_heads), first)
        v = self.project(h, w, "v", self.kv_heads)
        if i in self.trace.layers:
            p = None
            if self.trace.predicts(i, last):
                p = self.rope(self.project(self.norm(before, w["attn_norm.weight"]), w, "q", self.heads), first)
            self.trace.record(i, first, 1 / self.size ** 0.5, q, k, v, p)
        keys[:, first:last], values[:, first:last] = k.transpose(1, 0, 2), v.transpose(1, 0, 2)
        x = x + self.attend(q, keys[:, :last], values[:, :last], first) @ w["attn_output.weight"].T
        h = self.norm(x, w["ffn_norm.weight"])
        gate = h @ w["ffn_gate.weight"].T
        with np.errstate(over="ignore"):  # exp(-gate) is infinite for a gate that is shut
            return x + (gate / (1 + np.exp(-gate)) * (h @ w["ffn_up.weight"].T)) @ w["ffn_down.weight"].T

    def forward(self, tokens):
        """Reads tokens after those that it has read. Returns the logits of the last one, for greedy decoding."""
        x = self.file.tensor("token_embd.weight", tokens)
        before = x
        for i in range(self.layers):
            progress(f"layer {i} of {self.layers}, tokens {self.place} to {self.place + len(tokens)}")
            self.layer_now = self.layer(i)
            out = [self.block(i, x[at:at + BLOCK], before[at:at + BLOCK], self.place + at)
                   for at in range(0, len(tokens), BLOCK)]
            before, x = x, np.concatenate(out)
        self.place += len(tokens)
        if not self.greedy:
            return None
        if "head" not in self.kept:
            own = "output.weight" in self.file.tensors
            self.kept["head"] = self.file.tensor("output.weight" if own else "token_embd.weight")
        return self.kept["head"] @ self.norm(x[-1], self.file.tensor("output_norm.weight"))


# How a text is split into words that byte pairs are merged in. Python has no classes of letters and digits: these here
# differ from Unicode's in characters such as superscripts.
LETTER, OTHER, BEFORE = r"[^\W\d_]", r"(?:[^\s\w]|_)", r"(?:[^\w\r\n]|_)"
LLAMA = rf"(?i:'s|'t|'re|'ve|'m|'ll|'d)|{BEFORE}?{LETTER}+|\d%s| ?{OTHER}+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
GPT2 = rf"'s|'t|'re|'ve|'m|'ll|'d| ?{LETTER}+|%s| ?{OTHER}+|\s+(?!\S)|\s+"
WORDS = {"gpt-2": GPT2 % r" ?\d+", "smollm": GPT2 % r"\d|\s+(?=\d)", "llama-bpe": LLAMA % "{1,3}", "qwen2": LLAMA % ""}


class Tokenizer:
    """The tokenizer of a GGUF file: of pairs of bytes, or of pieces with scores (SentencePiece)."""

    def __init__(self, file):
        self.path, fields = file.path, file.fields
        self.kind, rule = file.get("tokenizer.ggml.model"), fields.get("tokenizer.ggml.pre", "none")
        if self.kind not in ("llama", "gpt2") or self.kind == "gpt2" and rule not in WORDS:
            raise Refused(f"{file.path}: a tokenizer {self.kind} that splits words by the rule {rule}: want llama, or "
                          f"gpt2 with {', '.join(WORDS)}: give token ids with --tokens in place of --text")
        self.id = {t: i for i, t in enumerate(file.get("tokenizer.ggml.tokens"))}
        self.memo = {}
        if self.kind == "llama":
            scores = file.get("tokenizer.ggml.scores")
            self.rank = lambda a, b: -scores[self.id[a + b]] if a + b in self.id else None
            self.words = re.compile("▁+[^▁]*|[^▁]+")
        else:
            ranks = {m: i for i, m in enumerate(file.get("tokenizer.ggml.merges"))}
            self.rank = lambda a, b: ranks.get(f"{a} {b}")
            self.words = re.compile(WORDS[rule])
        self.whole = rule == "llama-bpe"  # a word that is a token is not merged
        self.space = fields.get("tokenizer.ggml.add_space_prefix", True)
        self.begin = [fields["tokenizer.ggml.bos_token_id"]] if fields.get("tokenizer.ggml.add_bos_token",
                                                                           self.kind == "llama") else []

    def encode(self, text):
        if self.kind == "llama":
            text = (" " * self.space + text).replace(" ", "▁")
        return self.begin + [i for word in self.words.findall(text) for i in self.word(word)]

    def word(self, word):
        if word not in self.memo:
            symbols = word if self.kind == "llama" else "".join(BYTES[b] for b in word.encode())
            parts = [symbols] if self.whole and symbols in self.id else self.merge(list(symbols))
            self.memo[word] = [i for part in parts for i in self.ids(part)]
        return self.memo[word]

    def merge(self, parts):
        while True:
            ranks = [(r, i) for i in range(len(parts) - 1) if (r := self.rank(parts[i], parts[i + 1])) is not None]
            if not ranks:
                return parts
            i = min(ranks)[1]
            parts[i:i + 2] = [parts[i] + parts[i + 1]]

    def ids(self, part):
        """A character that is no token is its bytes."""
        names = [part] if part in self.id else [f"<0x{b:02X}>" for b in part.encode()]
        if any(name not in self.id for name in names):
            raise Refused(f"{self.path}: its tokenizer has no token for {part!r}: give token ids with --tokens")
        return [self.id[name] for name in names]


def byte_names():
    """The character that stands for each byte in tokens of GPT-2: itself if it is printable, or one from 256 on."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [b for b in range(256) if b not in plain]
    return {**{b: chr(b) for b in plain}, **{b: chr(256 + i) for i, b in enumerate(others)}}


BYTES = byte_names()


# ---------------------------------------------------------------- command line


def layer_list(text):
    """0,4,8-11 as a list; None for all."""
    if text == "all":
        return None
    layers = set()
    for part in text.split(","):
        match = re.fullmatch(r"(\d+)(?:-(\d+))?", part.strip())
        if not match or match[2] and int(match[2]) < int(match[1]):
            raise argparse.ArgumentTypeError(f"{part!r}: want all, or numbers and ranges such as 0,4,8-11")
        layers.update(range(int(match[1]), int(match[2] or match[1]) + 1))
    return sorted(layers)


def count(text):
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r}: want a number from 1 on")
    return int(text)


def options():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("model", metavar="MODEL", help="name or folder of a model for transformers, or a file .gguf "
                   f"({', '.join(ARCHITECTURES)}; tensors of {', '.join(t[0] for t in TYPES.values())})")
    text = p.add_mutually_exclusive_group(required=True)
    text.add_argument("--text", metavar="FILE", help="what the model reads, as UTF-8")
    text.add_argument("--tokens", metavar="FILE.npy", help="what it reads, as an array of token ids")
    p.add_argument("-o", "--out", required=True, metavar="OUT",
                   help="folder to write, or a file if it ends in .safetensors; must not exist")
    p.add_argument("--context", type=count, default=4096, metavar="N", help="tokens of the prompt (default 4096)")
    p.add_argument("--steps", type=count, default=640, metavar="N", help="decode steps after it (default 640)")
    p.add_argument("--layers", type=layer_list, default="all", metavar="LIST",
                   help="layers to store, such as 0,4,8-11 (default all)")
    p.add_argument("--decode", choices=["text", "greedy"], default="text",
                   help="which tokens the steps read: those that follow in the text (default), or the likeliest ones, "
                   "which small models soon repeat; greedy decoding never ends the text, and holds all weights of a "
                   "GGUF file as float32")
    p.add_argument("--no-predicted", dest="predicted", action="store_false",
                   help="do not store the queries as predicted one layer earlier, which prefetching works with")
    p.add_argument("--device", help="what transformers computes on, such as cuda (default cpu)")
    p.add_argument("--dtype", choices=["float32", "bfloat16", "float16"],
                   help="numbers that transformers computes with (default float32)")
    return p


def read_input(args, model):
    """The tokens of the input that are used, and what meta.json states of it."""
    path = args.text or args.tokens
    with open(path, "rb") as file:
        raw = file.read()
    if args.text:
        try:
            tokens = model.encode(raw.decode("utf-8-sig").replace("\r\n", "\n"))
        except UnicodeDecodeError as e:
            raise Refused(f"{path}: byte {e.start} is not UTF-8: convert the text") from None
    else:
        try:
            array = np.load(path, allow_pickle=False)
        except ValueError as e:
            raise Refused(f"{path}: no NumPy array ({e}): want token ids, as numpy.save writes them") from None
        if array.ndim != 1 or array.dtype.kind not in "iu" or not ((array >= 0) & (array < model.words())).all():
            raise Refused(f"{path}: an array of {array.dtype} of shape {array.shape}: want a list of token ids, "
                          f"integers from 0 to {model.words() - 1}")
        tokens = array.tolist()
    need = args.context + (args.steps if args.decode == "text" else 0)
    if len(tokens) < need:
        steps = f" and {args.steps} steps" if args.decode == "text" else ""
        raise Refused(f"{path} has {len(tokens)} tokens, but {args.context} of prompt{steps} need {need}: take a "
                      "longer text, or lower --context or --steps")
    return tokens[:need], {"text": os.path.basename(path), "text_sha256": hashlib.sha256(raw).hexdigest(),
                           "decode": args.decode}


def record(args):
    out = os.path.normpath(args.out)
    trace = Trace(out, args.layers, args.context, args.steps, args.predicted)
    if args.model.endswith(".gguf"):
        if args.device or args.dtype:
            raise Refused("--device and --dtype: NumPy computes a GGUF file, on the CPU and in float32: leave them out")
        model = Gguf(args.model, args.decode == "greedy", trace)
    else:
        model = HuggingFace(args.model, args.device or "cpu", args.dtype or "float32", trace)
    tokens, about = read_input(args, model)
    try:
        logits = model.forward(tokens)
        while len(tokens) < trace.tokens():
            logits[model.ends()] = -np.inf
            tokens.append(int(logits.argmax()))
            logits = model.forward(tokens[-1:])
        progress("")
        trace.finish({**about, **model.about()}, tokens)
    except BaseException:
        trace.discard()
        raise


def main():
    args = options().parse_args()
    try:
        record(args)
    except (Refused, OSError) as e:
        progress("")
        print(f"attention-trace: {e}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
