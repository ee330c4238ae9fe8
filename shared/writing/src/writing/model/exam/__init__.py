"""The exam of a judge: sentences with known verdicts, asked as a writer asks, and what its answers are worth."""
