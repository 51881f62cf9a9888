"""The rulebook: rule files, the condition language, and judging fact tables with them."""
