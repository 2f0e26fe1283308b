/* The rules for the modules of the pages and for their tests. */

import js from "@eslint/js";
import { defineConfig } from "eslint/config";
import globals from "globals";

export default defineConfig([
  js.configs.recommended,
  { rules: { "max-lines-per-function": ["error", 60] } },
  { files: ["src/**"], languageOptions: { globals: globals.browser } },
  { files: ["tests/**"], languageOptions: { globals: globals.node } },
]);
