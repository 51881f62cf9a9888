"""Logs that fio writes for a job (write_lat_log and its like): means, single I/Os, histograms."""
