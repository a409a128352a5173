// Fails when what wrangler would upload has grown: check-upload.mjs FOLDER BYTES
import { uploadSize } from "../tests/packaging/sizes.mjs";

const [folder, bound] = process.argv.slice(2);
const size = uploadSize(folder);
console.log(`compressed upload: ${size} bytes, at most ${bound} are allowed`);
process.exit(size <= Number(bound) ? 0 : 1);
