"""When posts go out: slots of accounts, the queue, repetitions, and what a person moves."""
