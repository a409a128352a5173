// Fails when what wrangler would upload has grown: check-upload.mjs FOLDER BYTES
import { hasSmallStd, uploadSize } from "../tests/packaging/sizes.mjs";

const [folder, bound] = process.argv.slice(2);
const size = uploadSize(folder);
const verdict = hasSmallStd() ? `at most ${bound} are allowed` : "not compared: built without the source of the standard library";
console.log(`compressed upload: ${size} bytes, ${verdict}`);
process.exit(size <= Number(bound) || !hasSmallStd() ? 0 : 1);
