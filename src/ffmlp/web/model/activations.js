/* Activations of neurons, as in ffmlp.network.hyperplanes. */

export function softplus(z) {
  return Math.log1p(Math.exp(-Math.abs(z))) + Math.max(z, 0);
}

/** The probability whose log-odds are z. */
export function sigmoid(z) {
  return Math.exp(-softplus(-z));
}

/** Shares (C,) of logarithms (C,). */
export function softmax(z) {
  const largest = Math.max(...z);
  const shares = Float64Array.from(z, (value) => Math.exp(value - largest));
  const total = shares.reduce((sum, share) => sum + share, 0);
  return shares.map((share) => share / total);
}

/** The logarithm of the sum of exponentials; -∞ if all are. */
export function logsumexp(z) {
  const largest = z.reduce((most, value) => Math.max(most, value), -Infinity);
  if (largest === -Infinity) return largest;
  return Math.log(z.reduce((sum, value) => sum + Math.exp(value - largest), 0)) + largest;
}

/** What a layer makes of its pre-activations, by the name of the activation. */
export const ACTIVATIONS = {
  identity: (z) => z,
  relu: (z) => z.map((value) => Math.max(value, 0)),
  softplus: (z) => z.map(softplus),
  softmax,
};
