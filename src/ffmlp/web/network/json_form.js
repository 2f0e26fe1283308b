/* A network from the JSON form that ffmlp.storage.form writes. */

import { Table } from "../arrays.js";
import { CategoryColumn, Columns, NumberColumn } from "../inputs/columns.js";
import { Gaussianisation } from "../inputs/features.js";
import { Imputation } from "../inputs/imputation.js";
import { BlobStages } from "./blob.js";
import { FamiliarSpace } from "./blobs.js";
import { Hyperplanes } from "./hyperplanes.js";
import { Network } from "./network.js";
import { CorrectedReadoutStages, ReadoutStages } from "./readout.js";
import { PaperStages, RegionStages } from "./region.js";
import { Regions } from "./regions.js";
import { TrainedStages } from "./trained.js";
import { Trees } from "./trees.js";

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
