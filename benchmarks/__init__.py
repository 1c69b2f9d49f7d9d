"""What tfvis_nb costs, each figure beside what it is measured against. Run by ``make bench``."""
