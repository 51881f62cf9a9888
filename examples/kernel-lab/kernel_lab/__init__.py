"""Builds a SAN of real Linux kernels on this machine and takes it down again."""
