"""scikit-learn's side of `cargo bench --bench probe`.

Reads one JSON request a line and answers with another: {"task": "read", "folder": place, "columns": d} reads features,
queries and labels; {"task": "probe", "penalty": λ, "tolerance": t, "precision": "f32"} fits a linear classifier;
{"task": "neighbours", "k": n, "temperature": t} finds the neighbours of the queries.
"""

import json
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import NearestNeighbors
from threadpoolctl import threadpool_limits

threadpool_limits(2)
warnings.simplefilter("ignore")


class Peer:
    def read(self, request):
        folder = Path(request["folder"])
        features = np.fromfile(folder / "features", "<f4").reshape(-1, request["columns"])
        self.features = {"f32": features, "f64": features.astype(np.float64)}
        self.queries = np.fromfile(folder / "queries", "<f4").reshape(-1, request["columns"])
        self.labels = np.fromfile(folder / "labels", "<u4").astype(np.int64)
        return {}

    def probe(self, request):
        """`J = mean cross-entropy + λ Σ W²` is scikit-learn's objective for `C = 1 / (2 λ n)`."""
        c = 1 / (2 * request["penalty"] * len(self.labels))
        model = LogisticRegression(C=c, tol=request["tolerance"], max_iter=10_000)
        start = time.perf_counter()
        model.fit(self.features[request["precision"]], self.labels)
        seconds = time.perf_counter() - start
        weight, bias = model.coef_.astype(float), model.intercept_.astype(float)
        return {"seconds": seconds, "weight": weight.tolist(), "bias": bias.tolist()}

    def neighbours(self, request):
        unit = [rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (self.features["f32"], self.queries)]
        start = time.perf_counter()
        search = NearestNeighbors(n_neighbors=request["k"], algorithm="brute").fit(unit[0])
        distances, indices = search.kneighbors(unit[1])
        seconds = time.perf_counter() - start
        votes = np.zeros((len(unit[1]), self.labels.max() + 1))
        weights = np.exp((1 - distances.astype(float) ** 2 / 2) / request["temperature"])
        for row in range(len(votes)):
            np.add.at(votes[row], self.labels[indices[row]], weights[row])
        return {"seconds": seconds, "classes": votes.argmax(axis=1).tolist()}


peer = Peer()
for line in sys.stdin:
    request = json.loads(line)
    print(json.dumps(getattr(peer, request["task"])(request)), flush=True)
