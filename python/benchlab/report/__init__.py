"""Terminal tables, HTML and plots. Starts nothing."""
