"""Prints a line: what any program costs to build."""


def main():
    print("hello")
