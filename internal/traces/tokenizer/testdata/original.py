# Trains tokenizers in the form of those of several families on made-up texts, and prints them, 1 000 other texts, and
# the tokens of these by Hugging Face's own library.
import base64, json, random, sys
from tokenizers import Tokenizer, AddedToken, models, pre_tokenizers, trainers, Regex, normalizers

random.seed(31)
words = [
    "the",
    "quick",
    "brown",
    "fox",
    "don't",
    "WE'LL",
    "naïve",
    "日本語",
    "한국어",
    "Привет",
    "123",
    "45678",
    "x_y",
    "{}",
    "=>",
    "\n",
    "\t",
    "...",
    "?!",
    "e\u0301",
    "½",
    "٣",
    "ﬁ",
    "🙂",
    "👩‍👩‍👧",
]
scripts = [
    "مرحبا بالعالم",
    "שלום",
    "नमस्ते",
    "สวัสดี",
    "வணக்கம்",
    "გამარჯობა",
    "Ελλάς",
    "Ὀδυσσεύς",
    "İstanbul",
    "Ａｂｃ",
    "①②",
    "㌔",
    "Å",
    "ヴァ",
    "가나",
    "中文字",
    "𠀀",
    "🇫🇷",
    "ñ",
    "n\u0303",
    "™",
    "…",
    "“q”",
    "«»",
    "—",
    "₹",
    "a\u0323\u0307",
    "\u0e33",
    "ǆ",
    "ﷺ",
    "ⅷ",
    "\ufeff",
    "\u00ad",
    "▁",
    "▁▁x",
]


def text(n):
    return "".join(
        random.choice(words) + random.choice(["", " ", " ", "  ", "\n", "\r\n", "\u00a0", "\u3000"]) for _ in range(n)
    )


odd = (
    words
    + scripts
    + [
        "a",
        "Z",
        " ",
        "  ",
        "'s",
        "'S",
        "ſ",
        "İ",
        "ß",
        "\x00",
        "\x1c",
        "\x85",
        "\u2028",
        "\u200b",
        "<|im_start|>",
        "<|im_end|>",
        "<|im",
        "K",
        "<mask>",
        " <mask> ",
        "<unk>",
        "<s>",
        "</s>",
        "<0x41>",
        "[MASK]",
        "$5",
        "a-b",
        "x" * 120,
    ]
)
texts = [
    text(random.randint(1, 60)) if i % 2 else "".join(random.choice(odd) for _ in range(random.randint(0, 40)))
    for i in range(1000)
]
corpus = [text(50) + " ".join(random.choices(scripts, k=10 * (i % 2))) for i in range(300)]
end = r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
start = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|"


def split(pattern):
    return pre_tokenizers.Split(Regex(pattern), "isolated")


plain = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
result = []


def trained(name, t, trainer, normalizer=None, pre=None, texts_from=None):
    if normalizer:
        t.normalizer = normalizer
    if pre:
        t.pre_tokenizer = pre
    t.train_from_iterator(texts_from or corpus, trainer)
    return name, t


def add(name, t):
    t = Tokenizer.from_str(t.to_str())
    result.append({"name": name, "file": t.to_str(), "ids": [t.encode(x, add_special_tokens=False).ids for x in texts]})


def edited(t, **fields):  # a tokenizer with other parts of its file
    f = json.loads(t.to_str())
    f.update(fields)
    return Tokenizer.from_str(json.dumps(f))


forms = {
    "gpt-2": (None, pre_tokenizers.ByteLevel(add_prefix_space=False)),
    "roberta": (None, pre_tokenizers.ByteLevel(add_prefix_space=True)),
    "llama-3": (None, pre_tokenizers.Sequence([split(start + r"\p{N}{1,3}|" + end), plain])),
    "qwen-2": (normalizers.NFC(), pre_tokenizers.Sequence([split(start + r"\p{N}|" + end), plain])),
    "deepseek-3": (
        None,
        pre_tokenizers.Sequence(
            [
                split(r"\p{N}{1,3}"),
                split("[一-龥぀-ゟ゠-ヿ]+"),
                split(
                    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_{|}~`][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
                ),
                plain,
            ]
        ),
    ),
    "smollm": (
        None,
        pre_tokenizers.Sequence(
            [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
        ),
    ),
}
for name, (normalizer, pre) in forms.items():
    special = ["<|im_start|>", "<|im_end|>"] + ([AddedToken("<mask>", lstrip=True)] if name == "roberta" else [])
    trainer = trainers.BpeTrainer(
        vocab_size=900,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=special,
        show_progress=False,
    )
    add(
        *trained(
            name,
            Tokenizer(models.BPE(ignore_merges=name == "llama-3")),
            trainer,
            normalizer,
            pre,
            [text(50) for _ in range(300)],
        )
    )

# SentencePiece's BPE: words begin with a mark, and bytes stand for what the vocabulary lacks.
bytes = ["<unk>", "<s>", "</s>"] + ["<0x%02X>" % i for i in range(256)]
_, words_of = trained(
    "",
    Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True)),
    trainers.BpeTrainer(vocab_size=1400, special_tokens=bytes, limit_alphabet=150, show_progress=False),
    None,
    pre_tokenizers.Metaspace(),
)
_, lines_of = trained(
    "",
    Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True)),
    trainers.BpeTrainer(vocab_size=1000, special_tokens=bytes, limit_alphabet=150, show_progress=False),
    normalizers.Replace(" ", "▁"),
    None,
)


def step(type, **fields):
    return dict(fields, type=type)


def special(*more):
    return [
        {
            "id": i,
            "content": c,
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": n,
            "special": True,
        }
        | m
        for i, c, n, m in more
    ]


three = special((0, "<unk>", False, {}), (1, "<s>", False, {}), (2, "</s>", False, {}))
to_marks = step("Replace", pattern={"String": " "}, content="▁")
prepended = step("Sequence", normalizers=[step("Prepend", prepend="▁"), to_marks])
pieces = {
    "llama-2": dict(normalizer=prepended, pre_tokenizer=None, added_tokens=three),
    "mistral": dict(
        normalizer=None,
        pre_tokenizer=step("Metaspace", replacement="▁", prepend_scheme="first", split=False),
        added_tokens=three,
    ),
    "llama-2 legacy": dict(
        normalizer=None,
        pre_tokenizer=step("Metaspace", replacement="▁", prepend_scheme="always", split=True),
        added_tokens=three,
    ),
    "gemma": dict(
        normalizer=to_marks,
        pre_tokenizer=step("Split", pattern={"String": " "}, behavior="MergedWithPrevious", invert=False),
        added_tokens=special(
            (0, "<unk>", False, {}), (1, "<s>", False, {}), (300, "\n", False, {}), (301, "  ", True, {})
        ),
    ),
    "phi-3": dict(
        normalizer=prepended,
        pre_tokenizer=None,
        added_tokens=special(
            (0, "<unk>", False, {}),
            (1, "<s>", False, {}),
            (2, "</s>", False, {"rstrip": True}),
            (302, "<|im_end|>", False, {"rstrip": True}),
            (303, "<mask>", False, {"lstrip": True}),
            (304, "the", False, {"single_word": True}),
        ),
    ),
}
for name, parts in pieces.items():
    add(name, edited(words_of, **parts))
add("gemma, long words", edited(lines_of, normalizer=to_marks, pre_tokenizer=None, added_tokens=three))
f = json.loads(words_of.to_str())
for name, model in {
    "no bytes": dict(byte_fallback=False),
    "no bytes, each unknown": dict(byte_fallback=False, fuse_unk=False),
    "no unknown": dict(byte_fallback=False, unk_token=None),
    "whole words": dict(ignore_merges=True),
}.items():
    add(
        "llama-2, " + name,
        edited(words_of, normalizer=prepended, pre_tokenizer=None, added_tokens=three, model=f["model"] | model),
    )

# Unigram, as T5, XLM-R and Albert have.
blanks = normalizers.Replace(Regex(" {2,}"), " ")
forms = {
    "nfkc": ([normalizers.NFKC(), blanks], False),
    "nmt": ([normalizers.Nmt(), normalizers.NFKC(), normalizers.Lowercase(), blanks], False),
    "albert": ([normalizers.NFKD(), normalizers.StripAccents(), normalizers.Strip()], False),
    "bytes": ([normalizers.NFC()], True),
}
for name, (steps, fallback) in forms.items():
    trainer = trainers.UnigramTrainer(
        vocab_size=900, special_tokens=bytes if fallback else ["<unk>", "<s>"], unk_token="<unk>", show_progress=False
    )
    name, t = trained(
        "unigram, " + name,
        Tokenizer(models.Unigram()),
        trainer,
        normalizers.Sequence(steps),
        (
            pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
            if name == "nmt"
            else pre_tokenizers.Metaspace()
        ),
    )
    if fallback:
        f = json.loads(t.to_str())
        t = edited(t, model=f["model"] | {"byte_fallback": True}, added_tokens=three)
    add(name, t)
try:
    import sentencepiece, io

    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(corpus),
        model_writer=out,
        vocab_size=400,
        minloglevel=2,
        hard_vocab_limit=False,
        character_coverage=0.98,
        normalization_rule_name="nmt_nfkc",
    )
    proto = out.getvalue()

    def fields(b):  # of a message of Protocol Buffers
        i = 0

        def varint():
            nonlocal i
            v = s = 0
            while True:
                v |= (b[i] & 127) << s
                s += 7
                i += 1
                if b[i - 1] < 128:
                    return v

        while i < len(b):
            key = varint()
            if key & 7 == 0:
                yield key >> 3, varint()
            else:
                n = {2: varint, 5: lambda: 4, 1: lambda: 8}[key & 7]()
                yield key >> 3, b[i : i + n]
                i += n

    charsmap = dict(fields(dict(fields(proto))[3]))[2]
    trainer = trainers.UnigramTrainer(
        vocab_size=900, special_tokens=["<unk>", "<s>"], unk_token="<unk>", show_progress=False
    )
    add(
        *trained(
            "unigram, precompiled",
            Tokenizer(models.Unigram()),
            trainer,
            normalizers.Sequence([normalizers.Precompiled(charsmap), blanks]),
            pre_tokenizers.Metaspace(),
        )
    )
except ImportError:
    print("no sentencepiece: no precompiled charsmap", file=sys.stderr)

# WordPiece, as BERT has.
for name, normalizer in {
    "uncased": normalizers.BertNormalizer(),
    "cased": normalizers.BertNormalizer(lowercase=False),
    "accents": normalizers.BertNormalizer(
        lowercase=True, strip_accents=False, clean_text=False, handle_chinese_chars=False
    ),
}.items():
    trainer = trainers.WordPieceTrainer(
        vocab_size=900, special_tokens=["[UNK]", "[CLS]", "[SEP]", "[MASK]"], limit_alphabet=150, show_progress=False
    )
    add(
        *trained(
            "bert, " + name,
            Tokenizer(models.WordPiece(unk_token="[UNK]")),
            trainer,
            normalizer,
            pre_tokenizers.BertPreTokenizer(),
        )
    )
json.dump({"texts": texts, "tokenizers": result}, sys.stdout)
