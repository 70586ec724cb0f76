#!/usr/bin/env python3
"""Embeds the texts of queries with a model on this machine, for cachesim --embeddings.

  cachesim convert TRACE queries.jsonl
  embed.py MODEL queries.jsonl -o queries.npy

MODEL is a folder with tokenizer.json and model.onnx (or onnx/model.onnx), which needs onnxruntime and tokenizers; or
else the name or the folder of a model for sentence-transformers, which needs that package and torch. Of the former the
vector is the output sentence_embedding or, if there is none, the mean over the tokens, or the first of them if
1_Pooling/config.json says cls. The queries are JSON lines, objects with a "text" or strings. Row i of the NumPy array
belongs to line i: float32 of length 1. Each distinct text is embedded once.
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


def one_line(error):
    return " ".join(str(error).split())


def texts_of(path):
    """The text of each line."""
    texts = []
    with open(path, "rb") as lines:
        for number, line in enumerate(lines, 1):
            try:
                query = json.loads(line.decode("utf-8"))
                text = query.get("text") if isinstance(query, dict) else query
                if isinstance(text, str):
                    text.encode("utf-8")  # JSON can name half of a character, which no tokenizer takes
            except (ValueError, RecursionError) as e:
                raise Refused(f"{path}: line {number}: {e}: want JSON lines in UTF-8, as cachesim convert writes them")
            if not isinstance(text, str) or not text.strip():
                raise Refused(f"{path}: line {number}: no text: want a string, or an object with a \"text\"")
            texts.append(text)
    if not texts:
        raise Refused(f"{path}: it is empty: want a query per line")
    return texts


def pooling(folder):
    """How the vectors of tokens become one, by the file from which sentence-transformers knows it: mean or cls."""
    path = os.path.join(folder, "1_Pooling", "config.json")
    if not os.path.exists(path):
        return "mean"
    with open(path, encoding="utf-8") as file:
        config = json.load(file)
    prefix = "pooling_mode_"
    modes = [config["pooling_mode"]] if "pooling_mode" in config else [
        key[len(prefix):].split("_")[0] for key, value in config.items() if key.startswith(prefix) and value]
    if modes not in (["mean"], ["cls"]):  # mean_sqrt_len_tokens is the mean, too, once it has length 1
        raise Refused(f"{path}: it pools by {modes}: want mean or cls, or a model for sentence-transformers")
    return modes[0]


def onnx_model(folder, path, longest):
    """A function from texts to their vectors and the number of texts that are cut off, by a model of ONNX."""
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
    mode = "mean" if whole else pooling(folder)

    def embed(texts):
        tokens = tokenizer.encode_batch(texts)
        mask = np.array([t.attention_mask for t in tokens], np.int64)
        given = {"input_ids": np.array([t.ids for t in tokens], np.int64), "attention_mask": mask,
                 "token_type_ids": np.array([t.type_ids for t in tokens], np.int64)}
        given = {name: value for name, value in given.items() if name in inputs}
        out = session.run(["sentence_embedding" if whole else outputs[0]], given)[0]
        if out.ndim == 3 and mode == "cls":
            out = out[:, 0]
        elif out.ndim == 3:
            out = (out * mask[:, :, None]).sum(1) / np.maximum(mask.sum(1), 1)[:, None]
        return out, sum(bool(t.overflowing) for t in tokens)

    return embed


def sentence_model(name, longest):
    """The same by a model for sentence-transformers."""
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError as e:
        raise Refused(f"{name} has no model.onnx, and {e}: pip install sentence-transformers")
    model = SentenceTransformer(name)
    longest = model.max_seq_length = min(longest, model.max_seq_length or longest)
    tokenizer = getattr(model, "tokenizer", None)

    def embed(texts):
        cut = 0
        if callable(tokenizer):  # models that do not read token by token have another kind, or none
            cut = sum(len(ids) > longest for ids in tokenizer(texts, truncation=False, verbose=False)["input_ids"])
        return model.encode(texts, show_progress_bar=False), cut

    return embed


def open_model(name, longest):
    try:
        for path in (os.path.join(name, "model.onnx"), os.path.join(name, "onnx", "model.onnx")):
            if os.path.exists(path):
                return onnx_model(name, path, longest)
        return sentence_model(name, longest)
    except Refused:
        raise
    except Exception as e:  # the libraries have no common kind of error
        raise Refused(f"{name}: {one_line(e)}: want the folder of a model, with tokenizer.json and model.onnx or for "
                      "sentence-transformers, or the name of one of the latter")


def vectors_of(texts, embed, batch):
    """Vectors of length 1, and how many texts are cut off; similar lengths go together, so that little is padded."""
    vectors, cut = None, 0
    order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
    for start in range(0, len(order), batch):
        part = order[start:start + batch]
        try:
            out, longer = embed([texts[i] for i in part])
            out = np.asarray(out, np.float32)
        except Exception as e:  # the libraries have no common kind of error
            raise Refused(f"the model fails: {one_line(e)}; it may read fewer tokens than --longest")
        if out.ndim != 2 or len(out) != len(part):
            raise Refused(f"the model gives an array of shape {out.shape} for {len(part)} texts: want a vector each")
        lengths = np.linalg.norm(out, axis=1, keepdims=True)
        if not (np.isfinite(lengths).all() and (lengths > 0).all()):
            raise Refused("the model gives a vector of zeros, or one that is not finite")
        if vectors is None:
            vectors = np.empty((len(texts), out.shape[1]), np.float32)
        vectors[part] = out / lengths
        cut += longer
        if sys.stderr.isatty():
            print(f"\r{start + len(part)} of {len(order)} texts", end="", file=sys.stderr, flush=True)
    if sys.stderr.isatty():
        print(file=sys.stderr)
    return vectors, cut


def positive(text):
    number = int(text)
    if number < 1:
        raise ValueError
    return number


def check_output(path):
    """Refuses, before the model runs, what could not be written after it."""
    if not path.endswith(".npy"):
        raise Refused(f"{path}: the output is a NumPy array: want a name that ends in .npy")
    folder = os.path.dirname(path) or "."
    if not os.path.isdir(folder):
        raise Refused(f"{path}: there is no folder {folder}: create it")


def write(path, vectors):
    """Writes the array; path has all of it, or is as it was."""
    unfinished = path + ".tmp"
    try:
        with open(unfinished, "wb") as out:
            np.save(out, vectors)
        os.replace(unfinished, path)
    finally:
        if os.path.exists(unfinished):
            os.remove(unfinished)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", metavar="MODEL")
    parser.add_argument("queries", metavar="QUERIES.jsonl")
    parser.add_argument("-o", "--output", required=True, metavar="OUT.npy")
    parser.add_argument("--batch", type=positive, default=64, help="texts at a time (default 64)")
    parser.add_argument("--longest", type=positive, default=256, help="tokens of a text that are read (default 256)")
    args = parser.parse_args()
    try:
        check_output(args.output)
        texts = texts_of(args.queries)
        numbers = {}
        rows = [numbers.setdefault(text, len(numbers)) for text in texts]
        vectors, cut = vectors_of(list(numbers), open_model(args.model, args.longest), args.batch)
        write(args.output, vectors[rows])
    except (Refused, OSError) as e:
        print(f"embed: {e}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
    print(f"{args.output}: {len(rows)} requests, {len(numbers)} distinct texts, {vectors.shape[1]} numbers",
          file=sys.stderr)
    if cut:
        print(f"cut off: the ends of {cut} texts, after {args.longest} tokens (--longest) or what the model reads",
              file=sys.stderr)


if __name__ == "__main__":
    main()
