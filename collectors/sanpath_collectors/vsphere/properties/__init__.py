"""What the properties of managed objects say, as entities, links and events: pure, but for `details.ask`."""
