"""Pages that are open to everybody: addresses, headers that keep browsers safe, looks. Rendering takes `chassis[pages]`."""
