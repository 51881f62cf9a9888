"""A job of fio: its options, its status at one moment, and what both prove about its I/Os. Pure."""
