"""The pages of the live view and their sections."""
