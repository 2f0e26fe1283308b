from ffmlp.tabular.table_model import are_integers


def test_labels_of_thousands_of_digits_are_texts():
    assert not are_integers(["3", "7" * 5000], 60)
    assert are_integers([str(-(2**63) + 1), str(2**63 - 1)], 60)
    assert not are_integers(["3", str(2**63)], 60)
