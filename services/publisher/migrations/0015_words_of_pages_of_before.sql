-- Those that were stored before there was a list of words (migration 0009). Apart from it, so that pages can be read meanwhile.
update pages set title = title where words is null;
