"""Entities, links and events from the properties of managed objects: pure, except `details.ask`."""
