"""The Kùzu projection of journal and code index: answers what is a graph question.

The only package that imports kuzu.
"""
