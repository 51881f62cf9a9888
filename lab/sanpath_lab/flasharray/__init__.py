"""What a simulated FlashArray answers over REST."""
