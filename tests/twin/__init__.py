"""A second implementation of what decides verdicts, written from the papers alone.

It imports numpy and scipy and nothing of the project, which `test_twin` compares with it. Papers by
their numbers here: 001, Kulkarni and Soto; 002, Reimherr and Awan; 003, Reimherr, Bharath and Soto;
004, Soto and others.
"""
