"""Read pickles with a small virtual machine that imports and calls nothing."""
