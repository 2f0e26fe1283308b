"""
The same network elsewhere
==========================

``to_torch`` is the network as a PyTorch module, ``to_onnx`` for any ONNX runtime. The probabilities are those
of Python to rounding. (Needs the extras ``torch`` and ``onnx``, and ``onnxruntime``.)
"""

# sphinx_gallery_alternative_text = "Probabilities of PyTorch and ONNX Runtime against probabilities of the classifier: all points are on the diagonal."

import matplotlib.pyplot as plt
import onnxruntime
import torch
from sklearn.datasets import load_breast_cancer

from ffmlp import FFMLPClassifier

X, y = load_breast_cancer(return_X_y=True)
clf = FFMLPClassifier(max_neurons=50, random_state=0).fit(X, y)
here = clf.predict_proba(X)[:, 1]

with torch.no_grad():
    in_torch = clf.to_torch(torch.float64)(torch.tensor(X)).numpy()[:, 1]
session = onnxruntime.InferenceSession(clf.to_onnx("float64").SerializeToString())
in_onnx = session.run(None, {"X": X})[1][:, 1]

figure, ax = plt.subplots(figsize=(5.5, 5), layout="constrained")
ax.plot(here, in_torch, "o", markersize=9, markerfacecolor="none", label="PyTorch")
ax.plot(here, in_onnx, ".", label="ONNX Runtime")
ax.set(xlabel="probability by the classifier", ylabel="probability elsewhere")
ax.legend()
print("largest differences:", abs(in_torch - here).max() < 1e-9, abs(in_onnx - here).max() < 1e-9)
