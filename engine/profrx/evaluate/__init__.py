"""Running a rule pack over frames: one column pass per rule, evidence for what fired, a ranking."""
