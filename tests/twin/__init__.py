"""A second implementation of what decides verdicts, written from the papers alone.

It imports numpy and scipy and nothing of the project. `python -m tests.twin OUT.csv` writes its
numbers. Papers by their numbers here: 000 and 001, Kulkarni and Soto, the first and the last
version; 002, Reimherr and Awan; 003, Reimherr, Bharath and Soto; 004, Soto and others (supplement).
"""
