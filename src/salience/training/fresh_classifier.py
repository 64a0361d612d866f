"""The model that a recipe names, with a fresh head for the labels of a task."""

from __future__ import annotations

from collections.abc import Callable

from transformers import set_seed

from salience.data.task import Task
from salience.data.texts import Texts
from salience.inference import TextClassifier
from salience.models.attention_models import attention_options, build_attention_classifier
from salience.models.loading import load_classifier, longest_text
from salience.models.sentence_pooling import with_pooling
from salience.training.recipe import Recipe


def fresh_classifier(recipe: Recipe, task: Task, note: Callable[[str], None]) -> TextClassifier:
    """The recipe's model with a fresh head. The tokenizer's `model_max_length`, saved with it, is the length read."""
    options = attention_options(recipe.model, recipe.model_options)
    set_seed(recipe.seed)  # the fresh head, then everything that is drawn
    if options is None:
        model, tokenizer = load_classifier(recipe.model, task.labels, recipe.dropout, task.multi_label)
        model = with_pooling(model, recipe.model, recipe.pooling)
    else:
        model, tokenizer = build_attention_classifier(options, task.labels, all_texts(task.to_train_on), note)
    if recipe.long != "head":
        model.config.long_texts = recipe.long  # predictions read texts as training does
    longest = tokenizer.model_max_length = longest_text(model, tokenizer, recipe.max_length)
    return TextClassifier(model, tokenizer, longest)


def all_texts(texts: Texts) -> list[str]:
    """First texts and second texts, from which a vocabulary is built."""
    return [*texts.texts, *(texts.second or [])]
