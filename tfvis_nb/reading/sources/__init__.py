"""Convert paths, bytes and objects to pieces to read: folders, archives, packed files."""
