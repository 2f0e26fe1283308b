/* Why a row has its class: what its columns add to its lead, as in ffmlp.explain.decisions. */

import { argmax } from "../arrays.js";
import { attributed, blobPoint, pointOf, rivalBlob } from "./attribution.js";

/** The explanation of the cells (M,) of a row; `rival` is null if no other class can be predicted. */
export function explained(network, blobs, cells) {
  const { hyperplanes, stages, table } = network;
  const inputs = network.inputs(cells);
  const point = pointOf(network, hyperplanes.mapped(inputs));
  const probabilities = stages.probabilities(point.h);
  const winner = argmax(probabilities);
  const rival = rivalOf(point.scores, winner);
  if (rival === null) return { inputs, probabilities, winner, rival };
  const blob = rivalBlob(network, blobs, point, winner, rival);
  const reference = blobPoint(network, blobs, blob);
  const attributions = table.summed(attributed(network, point, reference, winner, rival));
  const referenceLead = reference.scores[winner] - reference.scores[rival];
  return {
    inputs,
    probabilities,
    winner,
    rival,
    blob,
    attributions,
    referenceLead,
    lead: attributions.reduce((sum, part) => sum + part, referenceLead),
    reference: hyperplanes.unmapped(reference.z),
  };
}

/** The class of the best score but the winner's; null if no other class can be predicted. */
function rivalOf(scores, winner) {
  const others = scores.map((score, label) => (label === winner ? -Infinity : score));
  const best = argmax(others);
  return others[best] > -Infinity ? best : null;
}
