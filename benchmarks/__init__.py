"""What tfvis_nb costs, each figure next to its reference. Run with ``make bench``."""
