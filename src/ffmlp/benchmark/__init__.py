"""The designs beside other classifiers, on many sets."""
