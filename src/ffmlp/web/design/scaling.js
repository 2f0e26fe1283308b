/* Standardised features, and the way back: ffmlp.design.scaling. */

/** The mean and standard deviation of each feature; constant features have the scale 1. */
export function scalingOf({ X, n, N }) {
  const mean = new Float64Array(N);
  const scale = new Float64Array(N);
  for (let j = 0; j < N; j++) {
    let [low, high, sum] = [Infinity, -Infinity, 0];
    for (let i = 0; i < n; i++) {
      const value = X[i * N + j];
      low = Math.min(low, value);
      high = Math.max(high, value);
      sum += value;
    }
    mean[j] = low === high ? low : sum / n;
    let squares = 0;
    for (let i = 0; i < n; i++) squares += (X[i * N + j] - mean[j]) ** 2;
    scale[j] = low === high ? 1 : Math.sqrt(squares / n) || 1;
  }
  return { mean, scale };
}

/** Standardised features of samples. */
export function standardised({ mean, scale }, X, N) {
  return X.map((value, i) => (value - mean[i % N]) / scale[i % N]);
}

/** Hyperplanes of standardised features, for the original features. */
export function unscaledPlanes({ mean, scale }, planes) {
  const { n, N } = planes;
  const weights = planes.weights.map((weight, i) => weight / scale[i % N]);
  const biases = planes.biases.slice();
  for (let l = 0; l < n; l++) {
    let shift = 0;
    for (let j = 0; j < N; j++) shift += weights[l * N + j] * mean[j];
    biases[l] -= shift;
  }
  return { ...planes, weights, biases };
}

/** Blobs of standardised features, for the original features. */
export function unscaledBlobs({ mean, scale }, blobs) {
  const { N } = blobs;
  return {
    ...blobs,
    means: blobs.means.map((value, i) => value * scale[i % N] + mean[i % N]),
    covariances: blobs.covariances.map(
      (value, i) => value * scale[i % N] * scale[Math.floor(i / N) % N],
    ),
  };
}
