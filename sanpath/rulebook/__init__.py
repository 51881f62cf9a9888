"""The rulebook: rule files, the condition language, and the judgement of fact tables by rules."""
