"""The built-in rules: one YAML file a rule, in folders by layer."""
