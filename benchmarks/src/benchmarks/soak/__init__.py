"""A working day in miniature, for hours: what people and operators do, again and again, while memory and tables are watched."""
