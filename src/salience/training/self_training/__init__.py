"""Semi-supervised training: texts without labels are labelled by two teachers, and a student learns from all texts.

1. The first teacher is the model of the run, trained on the labelled rows alone: exactly the model that the run would
   give without `--unlabelled`.
2. The second teacher is logistic regression on the mean vectors of the frozen encoder (`baselines.py`). With few rows
   it is better on some data and worse on others, and its errors are other ones.
3. Both label the texts by probabilities, which are blended (`blending.py`), shifted so that the classes are as
   frequent as in the labelled rows (`aligning.py`), and sharpened (`sharpening.py`). Each text gets a weight that is
   smaller the less certain its label is (`weighting.py`).
4. The student begins from the same weights as the first teacher did, before any training. Each of its steps adds to
   the loss of the run, on labelled rows, the weighted cross-entropy on texts without labels. It reads them with random
   words replaced, or mixed with others (`objective.py`).

The labels are computed once and stay as they are: a model that labels texts for itself from its first steps on teaches
itself its errors. `docs/unlabelled.md` has the sources and the measurements.
"""
