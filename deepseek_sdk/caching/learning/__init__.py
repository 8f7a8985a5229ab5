"""What the semantic tier learns from: labels of pairs, a judge, answers that are asked for again, an alarm."""
