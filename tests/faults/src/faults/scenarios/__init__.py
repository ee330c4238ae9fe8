"""The fault matrix, grouped by what is broken; every module here is read by `faults.scenario.load`."""
