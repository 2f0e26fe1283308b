"""Design a network for the Iris data and print the meaning of each neuron."""

from sklearn.datasets import load_iris
from sklearn.model_selection import train_test_split

from ffmlp import FFMLPClassifier


def main() -> None:
    iris = load_iris()
    X_train, X_test, y_train, y_test = train_test_split(
        iris.data, iris.target_names[iris.target], test_size=0.4, stratify=iris.target, random_state=1
    )
    clf = FFMLPClassifier(2, design="region", error_threshold=0.05, random_state=0).fit(X_train, y_train)
    network = clf.network_
    print("neurons: {} → {} → {} → {}".format(*network.layer_sizes))
    print(f"designed in {1e3 * sum(clf.timings_.values()):.1f} ms, without backpropagation")
    print(f"test accuracy: {clf.score(X_test, y_test):.3f}")
    for layer, name in ((1, "l_1"), (2, "l_2"), (3, "l_out")):
        for neuron in range(network.layer_sizes[layer]):
            print(f"{name} neuron {neuron}: {network.meaning(layer, neuron)}")


if __name__ == "__main__":
    main()
