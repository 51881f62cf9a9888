"""Facts of the storage: arrays, volumes, controllers, target ports, and clusters."""
