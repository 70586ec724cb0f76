#!/usr/bin/env python3
"""Embeds the texts of queries with a model on this machine, for cachesim --embeddings.

  cachesim convert TRACE queries.jsonl
  embed.py MODEL queries.jsonl -o queries.npy

MODEL is a folder with tokenizer.json and model.onnx (or onnx/model.onnx), which needs onnxruntime and tokenizers and
takes the mean over tokens unless the model has an output sentence_embedding; or else the name or the folder of a model
for sentence-transformers, which needs that package and torch. The queries are JSON lines, objects with a "text" or
strings. Row i of the NumPy array belongs to line i: float32 of length 1. Each distinct text is embedded once.
"""
import argparse
import json
import os
import sys

try:
    import numpy as np
except ImportError:
    sys.exit("embed: NumPy is missing: pip install -r tools/embed.requirements.txt")


class Refused(Exception):
    """What was found, what was expected, and what to do."""


def texts_of(path):
    """The text of each line."""
    texts = []
    with open(path, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            try:
                query = json.loads(line)
            except ValueError as e:
                raise Refused(f"{path}: line {number}: {e}: want JSON lines, as cachesim convert writes them")
            text = query.get("text") if isinstance(query, dict) else query
            if not isinstance(text, str) or not text.strip():
                raise Refused(f"{path}: line {number}: no text: want a string, or an object with a \"text\"")
            texts.append(text)
    if not texts:
        raise Refused(f"{path}: it is empty: want a query per line")
    return texts


def onnx_model(folder, path, longest):
    """A function from texts to vectors, by a model of ONNX."""
    try:
        import onnxruntime
        from tokenizers import Tokenizer
    except ImportError as e:
        raise Refused(f"{e}: pip install onnxruntime tokenizers")
    tokenizer = Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
    tokenizer.enable_truncation(longest)
    tokenizer.enable_padding()
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    inputs = {i.name for i in session.get_inputs()}
    outputs = [o.name for o in session.get_outputs()]
    whole = "sentence_embedding" in outputs

    def embed(texts):
        tokens = tokenizer.encode_batch(texts)
        mask = np.array([t.attention_mask for t in tokens], np.int64)
        given = {"input_ids": np.array([t.ids for t in tokens], np.int64), "attention_mask": mask,
                 "token_type_ids": np.array([t.type_ids for t in tokens], np.int64)}
        given = {name: value for name, value in given.items() if name in inputs}
        out = session.run(["sentence_embedding" if whole else outputs[0]], given)[0]
        if out.ndim == 3:
            out = (out * mask[:, :, None]).sum(1) / np.maximum(mask.sum(1), 1)[:, None]
        return out

    return embed


def sentence_model(name, longest):
    """A function from texts to vectors, by a model for sentence-transformers."""
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError as e:
        raise Refused(f"{name} has no model.onnx, and {e}: pip install sentence-transformers")
    model = SentenceTransformer(name)
    model.max_seq_length = min(longest, model.max_seq_length or longest)
    return lambda texts: model.encode(texts, show_progress_bar=False)


def open_model(name, longest):
    for path in (os.path.join(name, "model.onnx"), os.path.join(name, "onnx", "model.onnx")):
        if os.path.exists(path):
            return onnx_model(name, path, longest)
    return sentence_model(name, longest)


def vectors_of(texts, embed, batch):
    """Vectors of length 1; similar lengths go together, so that little is padded."""
    vectors = None
    order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
    for start in range(0, len(order), batch):
        part = order[start:start + batch]
        out = np.asarray(embed([texts[i] for i in part]), np.float32)
        lengths = np.linalg.norm(out, axis=1, keepdims=True)
        if not (np.isfinite(lengths).all() and (lengths > 0).all()):
            raise Refused("the model gives a vector of zeros, or one that is not finite")
        if vectors is None:
            vectors = np.empty((len(texts), out.shape[1]), np.float32)
        vectors[part] = out / lengths
        if sys.stderr.isatty():
            print(f"\r{start + len(part)} of {len(order)} texts", end="", file=sys.stderr, flush=True)
    return vectors


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", metavar="MODEL")
    parser.add_argument("queries", metavar="QUERIES.jsonl")
    parser.add_argument("-o", "--output", required=True, metavar="OUT.npy")
    parser.add_argument("--batch", type=int, default=64, help="texts at a time (default 64)")
    parser.add_argument("--longest", type=int, default=256, help="tokens of a text that are read (default 256)")
    args = parser.parse_args()
    try:
        texts = texts_of(args.queries)
        numbers = {}
        rows = [numbers.setdefault(text, len(numbers)) for text in texts]
        vectors = vectors_of(list(numbers), open_model(args.model, args.longest), args.batch)[rows]
    except (Refused, OSError) as e:
        print(f"embed: {e}", file=sys.stderr)
        sys.exit(2)
    partial = args.output + ".partial"
    with open(partial, "wb") as out:
        np.save(out, vectors)
    os.replace(partial, args.output)
    print(f"{args.output}: {len(rows)} requests, {len(numbers)} distinct texts, {vectors.shape[1]} numbers", file=sys.stderr)


if __name__ == "__main__":
    main()
