"""Run folders and the Measurements in them; append-only."""
