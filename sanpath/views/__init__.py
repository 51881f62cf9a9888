"""Views: a Diagnosis in, a picture out. None of them computes."""
