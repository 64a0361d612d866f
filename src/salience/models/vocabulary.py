"""Words as tokens, for models that are trained from scratch."""

from __future__ import annotations

from collections.abc import Iterable

from tokenizers import Regex, Tokenizer, normalizers, pre_tokenizers, processors
from tokenizers.models import WordLevel
from tokenizers.trainers import WordLevelTrainer
from transformers import PreTrainedTokenizerFast

PADDING, UNKNOWN, SEPARATOR = "[PAD]", "[UNK]", "[SEP]"
SPECIAL = [PADDING, UNKNOWN, SEPARATOR]
# Letters and digits, with hyphens and apostrophes inside (well-made, don't); every other sign by itself.
WORD = r"\w+(?:['’\-]\w+)*|[^\w\s]"
MOST = 200_000  # words


def word_tokenizer(texts: Iterable[str], minimum_frequency: int = 1, split: bool = True) -> PreTrainedTokenizerFast:
    """A tokenizer of lower-cased words, with those that stand in `texts` at least `minimum_frequency` times.

    A single text gets no special tokens, a pair one separator between its texts.

    Args:
        split: False where the texts are tokenised already: words are what stands between spaces.
    """
    tokenizer = Tokenizer(WordLevel(unk_token=UNKNOWN))
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Lowercase()])
    words = pre_tokenizers.Split(Regex(WORD), "removed", invert=True)
    tokenizer.pre_tokenizer = words if split else pre_tokenizers.WhitespaceSplit()
    tokenizer.train_from_iterator(
        texts,
        WordLevelTrainer(
            vocab_size=MOST, min_frequency=minimum_frequency, special_tokens=SPECIAL, show_progress=False
        ),
    )
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A", pair=f"$A {SEPARATOR} $B:1", special_tokens=[(SEPARATOR, tokenizer.token_to_id(SEPARATOR))]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token=PADDING, unk_token=UNKNOWN, sep_token=SEPARATOR
    )
