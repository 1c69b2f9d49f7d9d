"""Damaged traces of every format, made by structure, and everything that one that can be read has to survive.

A mutant is known by its number alone: the same number always gives the same bytes.
`tests.test_mutants` tries a fixed sample, ``python -m benchmarks.mutants`` as many as are wanted.
"""
