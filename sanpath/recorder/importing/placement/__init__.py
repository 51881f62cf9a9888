"""Where an imported file lies in time: by its own times, beside other files of its run, or by what a person says."""
