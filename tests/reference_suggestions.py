"""The strategies as loops over single texts, from the formulas of their papers; every vector and gradient is made."""

import math

import numpy as np


def by_score(scores, count):
    """The places of the highest scores; of equal ones, the first."""
    return sorted(range(len(scores)), key=lambda place: (-scores[place], place))[:count]


def least_confidence(probabilities, count):
    return by_score([1 - max(row) for row in probabilities], count)


def margin(probabilities, count):
    def of(row):
        first, second = sorted(row, reverse=True)[:2]
        return first - second

    return by_score([-of(row) for row in probabilities], count)


def entropy_of(row):
    return -sum(value * math.log(value) for value in row if value > 0)


def entropy(probabilities, count):
    return by_score([entropy_of(row) for row in probabilities], count)


def density(probabilities, vectors, count):
    def cosine(one, other):
        return float(np.dot(one, other) / (np.linalg.norm(one) * np.linalg.norm(other)))

    scores = [
        entropy_of(row) * max(np.mean([cosine(own, other) for other in vectors]), 0)
        for row, own in zip(probabilities, vectors, strict=True)
    ]
    return by_score(scores, count)


def k_center(vectors, labelled, count):
    chosen = []
    for _ in range(count):
        centers = [*labelled, *(vectors[place] for place in chosen)]
        nearest = [min(math.dist(vector, center) for center in centers) for vector in vectors]
        chosen.append(max(range(len(vectors)), key=lambda place: nearest[place]))
    return chosen


def gradients(probabilities, vectors):
    """The gradient of the cross-entropy in the weights W (C, D) of logits W h, for the most probable label."""
    found = []
    for row, vector in zip(probabilities, vectors, strict=True):
        label = max(range(len(row)), key=lambda number: row[number])
        found.append(np.array([[(p - (c == label)) * h for h in vector] for c, p in enumerate(row)]).ravel())
    return found


def badge(probabilities, vectors, count, numbers):
    """k-means++ from the largest gradient on; `numbers` are the uniform ones, one for each draw."""
    embeddings = gradients(probabilities, vectors)
    chosen = [max(range(len(embeddings)), key=lambda place: np.linalg.norm(embeddings[place]))]
    for number in numbers[: count - 1]:
        weights = [min(math.dist(own, embeddings[center]) for center in chosen) ** 2 for own in embeddings]
        wanted, reached = number * sum(weights), 0.0
        for place, weight in enumerate(weights):
            reached += weight
            if reached > wanted:
                chosen.append(place)
                break
    return chosen


def facility_location(vectors, labelled, weights, count):
    def cosine(one, other):
        return float(one @ other / (np.linalg.norm(one) * np.linalg.norm(other)))

    def value(chosen):
        covering = [*labelled, *(vectors[place] for place in chosen)]
        return sum(
            weight * max([-1.0, *(cosine(vector, other) for other in covering)])
            for vector, weight in zip(vectors, weights, strict=True)
        )

    chosen = []
    while len(chosen) < count:
        left = [place for place in range(len(vectors)) if place not in chosen]
        chosen.append(max(left, key=lambda place: round(value([*chosen, place]), 9)))
    return chosen
