"""The decision whether a kept answer is right for another question: scores, thresholds, policies, and corrections."""
