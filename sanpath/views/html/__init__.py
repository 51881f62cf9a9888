"""The report as one HTML file that needs no network: page, styles, script, and charts drawn as SVG."""
