// Clients that run in a process of their own: those of Python, and SDKs for Node that must trust a test's certificate, which
// Node reads when it starts.
import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);

/** Calls the function `pay` of a module with these values in a new process. Returns what it resolves with. */
export async function payInNode(module, values, env) {
  const program = `const [module, values] = process.argv.slice(1);
const { pay } = await import(module);
console.log(JSON.stringify(await pay(...JSON.parse(values))));`;
  const options = ["--no-warnings", "--input-type=module", "--eval", program];
  const { stdout } = await run(process.execPath, [...options, module, JSON.stringify(values)], { env: { ...process.env, ...env } });
  return JSON.parse(stdout);
}

/** Where scripts/setup puts the modules of requirements.txt. */
const python = { env: { ...process.env, PYTHONPATH: new URL("../../target/tools/python", import.meta.url).pathname } };

/** Tells whether Python is installed, and has a module. */
export const hasModule = (name) => run("python3", ["-c", `import ${name}`], python).then(() => true, () => false);

/** Returns a client whose call is the function `pay` of a program in Python. */
export const payInPython = (program) => (url) => async (key) => {
  const print = `${program}\nimport sys\nprint(pay(sys.argv[1], sys.argv[2]).json()["id"])`;
  return (await run("python3", ["-c", print, url, key], python)).stdout.trim();
};
