"""Views: each renders a Diagnosis in one format. Views compute nothing."""
