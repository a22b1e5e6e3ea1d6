// The modules from npm. `cargo xtask check` installs them under `target`, next to no source file, so they are found by path.
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

export const ROOT = fileURLToPath(new URL("../../../../../", import.meta.url));
const require = createRequire(`${ROOT}target/browser/package.json`);

export const { chromium } = require("playwright-core");
export const AXE = require.resolve("axe-core/axe.min.js");
