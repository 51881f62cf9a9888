"""The reader process of the live view: it judges the recording in the background while the screen goes on."""
