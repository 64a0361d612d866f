"""Whether an explanation is true: what happens to a decision when the words go that are said to have made it."""
