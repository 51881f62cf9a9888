"""Figures that people entered, compared with each other, with measurements, and with what follows from them."""
