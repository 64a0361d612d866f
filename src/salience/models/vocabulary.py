"""A tokenizer of words, for models that are trained from scratch."""

from __future__ import annotations

from collections.abc import Iterable

from tokenizers import Regex, Tokenizer, normalizers, pre_tokenizers, processors
from tokenizers.models import WordLevel
from tokenizers.trainers import WordLevelTrainer
from transformers import PreTrainedTokenizerFast

PADDING, UNKNOWN, SEPARATOR = "[PAD]", "[UNK]", "[SEP]"
SPECIAL = [PADDING, UNKNOWN, SEPARATOR]
# A word is a run of letters and digits, with single hyphens and apostrophes inside (well-made, don't). Every other
# character is a word of its own.
WORD = r"\w+(?:['’\-]\w+)*|[^\w\s]"
MOST = 200_000  # largest vocabulary, in words


def word_tokenizer(texts: Iterable[str], minimum_frequency: int = 1, split: bool = True) -> PreTrainedTokenizerFast:
    """A tokenizer of lower-cased words, with a vocabulary of the words of `texts`.

    A single text gets no special tokens. A pair of texts gets one separator between the texts.

    Args:
        texts: the training texts.
        minimum_frequency: number of occurrences from which on a word is in the vocabulary.
        split: whether to separate words and punctuation marks by a regular expression. False is for tokenised texts,
            whose words are separated by white space.
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
