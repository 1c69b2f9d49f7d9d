"""Transfers and collectives: bandwidth, waiting, stragglers."""
