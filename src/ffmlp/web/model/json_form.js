/* A network from the JSON form that ffmlp.storage.form writes. */

import { Table } from "./arrays.js";
import { BlobStages } from "./blob_stages.js";
import { CategoryColumn, Columns, NumberColumn } from "./columns.js";
import { FamiliarSpace } from "./familiarity.js";
import { Gaussianisation } from "./features.js";
import { Hyperplanes } from "./hyperplanes.js";
import { Imputation } from "./imputation.js";
import { Network } from "./network.js";
import { PaperStages } from "./paper_stages.js";
import { ReadoutStages } from "./readout_stages.js";
import { CorrectedReadoutStages } from "./corrected_readout_stages.js";
import { RegionStages } from "./region_stages.js";
import { Trees } from "./trees.js";
import { Regions } from "./regions.js";
import { TrainedStages } from "./trained_stages.js";

const PARTS = {
  BlobStages,
  CategoryColumn,
  Columns,
  CorrectedReadoutStages,
  FamiliarSpace,
  Gaussianisation,
  Hyperplanes,
  Imputation,
  Network,
  NumberColumn,
  PaperStages,
  ReadoutStages,
  RegionStages,
  Regions,
  TrainedStages,
  Trees,
};
// Fields that are lists of arrays, which may have different lengths.
const LISTS = { Gaussianisation: ["knots", "scores"], TrainedStages: ["biases"] };

/** The part, array or plain value that JSON values describe. */
export function fromJson(value) {
  if (Array.isArray(value)) return listOf(value);
  if (value === null || typeof value !== "object") return value;
  const { type, ...fields } = value;
  const parts = Object.fromEntries(
    Object.entries(fields).map(([name, field]) => [
      name,
      LISTS[type]?.includes(name) ? field.map(fromJson) : fromJson(field),
    ]),
  );
  return type === undefined ? parts : new PARTS[type](parts);
}

/** Numbers as an array (n,), a `Table` (n, m) or a list of tables; texts and parts as a list. */
function listOf(values) {
  const [first] = values;
  if (Array.isArray(first)) {
    if (Array.isArray(first[0])) return values.map(fromJson);
    return new Table(Float64Array.from(values.flat(), numberOf), values.length, first.length);
  }
  const areNumbers = typeof first !== "string" && (first === null || typeof first !== "object");
  return areNumbers ? Float64Array.from(values, numberOf) : values.map(fromJson);
}

/** JSON has null for NaN. */
function numberOf(value) {
  return value === null ? NaN : Number(value);
}
