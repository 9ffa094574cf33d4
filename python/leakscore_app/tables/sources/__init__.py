"""Tables that are read block by block, anew for every pass, whatever holds them."""
