"""Which unlabelled texts to label next: strategies of active learning.

`STRATEGIES` is the catalogue; `salience.suggest` chooses by one of them.
"""

from salience.suggestions.strategies import DEFAULT, DESCRIBED, STRATEGIES, Choose, Pool, Strategy
from salience.suggestions.suggesting import Suggestion, suggest

__all__ = ["DEFAULT", "DESCRIBED", "STRATEGIES", "Choose", "Pool", "Strategy", "Suggestion", "suggest"]
