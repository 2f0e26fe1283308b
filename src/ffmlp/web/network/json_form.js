/* A network from its JSON form, which ffmlp.storage.json_form writes. */

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

const NETWORK_TAGS = {
  columns: Columns,
  "number-column": NumberColumn,
  "category-column": CategoryColumn,
  imputation: Imputation,
  gaussianisation: Gaussianisation,
  "familiar-space": FamiliarSpace,
  hyperplanes: Hyperplanes,
  regions: Regions,
  "region-stages": RegionStages,
  "paper-stages": PaperStages,
  "blob-stages": BlobStages,
  "readout-stages": ReadoutStages,
  "corrected-readout-stages": CorrectedReadoutStages,
  "trees": Trees,
  "trained-stages": TrainedStages,
  network: Network,
};

const TYPES = {
  float64: Float64Array,
  float32: Float32Array,
  int64: BigInt64Array,
  uint64: BigUint64Array,
  int32: Int32Array,
  uint32: Uint32Array,
  int16: Int16Array,
  uint16: Uint16Array,
  int8: Int8Array,
  uint8: Uint8Array,
  bool: Uint8Array,
};

/** The part, array or plain value that JSON values describe. */
export function fromJson(value) {
  if (Array.isArray(value)) return value.map(fromJson);
  if (value === null || typeof value !== "object") return value;
  if ("dtype" in value) return arrayOf(value);
  const { tag, ...fields } = value;
  const parts = Object.fromEntries(
    Object.entries(fields).map(([name, field]) => [name, fromJson(field)]),
  );
  return tag === undefined ? parts : new NETWORK_TAGS[tag](parts);
}

/** A typed array (n,), a `Table` (n, m) or a list of tables (k, n, m); a plain list of texts. */
function arrayOf({ dtype, shape, values, base64 }) {
  if (dtype === "object") return values;
  const Type = TYPES[dtype];
  if (!Type) throw new Error(`Arrays of ${dtype} are not read.`);
  const stored =
    values ?? new Type(Uint8Array.from(atob(base64), (byte) => byte.charCodeAt(0)).buffer);
  // Whole numbers of 64 bits become floats, exact up to 2⁵³, which other numbers can be added to.
  const data = (dtype.endsWith("int64") ? Float64Array : Type).from(stored, Number);
  if (shape.length === 1) return data;
  const [rows, columns] = shape.slice(-2);
  if (shape.length === 2) return new Table(data, rows, columns);
  return Array.from(
    { length: shape[0] },
    (_, k) => new Table(data.subarray(k * rows * columns, (k + 1) * rows * columns), rows, columns),
  );
}
