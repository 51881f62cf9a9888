"""The live view: a screenful about a run under way, drawn from its last Diagnosis. Only this part needs Textual."""
