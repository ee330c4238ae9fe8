"""The processes that are broken: services with probe handlers, in this version and the next."""
