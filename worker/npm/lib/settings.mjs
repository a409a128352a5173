// Reads settings from arguments and from the environment. The Worker checks their values; here only names are checked.

/** Returns how many letters must be added, removed or replaced to turn one name into the other. */
function distance(one, other) {
  let row = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (const [at, letter] of [...one].entries()) {
    const next = [at + 1];
    for (let place = 1; place <= other.length; place++) {
      next.push(Math.min(row[place - 1] + (other[place - 1] !== letter), row[place] + 1, next[place - 1] + 1));
    }
    row = next;
  }
  return row[other.length];
}

/** Returns the setting whose name is most similar to `name`, and the number of letters that differ. */
function nearest(name, names) {
  const far = names.map((known) => [known, distance(known, name.toUpperCase())]);
  return far.sort(([, one], [, other]) => one - other)[0];
}

/**
 * Returns the settings that a list of `NAME=value` contains. Throws if a name is no setting or comes twice. `label`
 * names the list in errors, which never contain a value, because it may be a secret.
 */
export function readPairs(pairs, names, label) {
  const settings = {};
  for (const pair of pairs) {
    const at = pair.indexOf("=");
    if (at < 1) throw new Error(`${label}: a setting has a wrong form; write NAME=value, separated by spaces, without spaces in the values`);
    const name = pair.slice(0, at);
    if (!names.includes(name)) {
      throw new Error(`${label}: ${name} is not the name of a setting; did you mean ${nearest(name, names)[0]}? docs/guide/settings.md lists them all`);
    }
    if (name in settings) throw new Error(`${label}: ${name} is set twice; set it once`);
    settings[name] = pair.slice(at + 1);
  }
  return settings;
}

/**
 * Returns the settings in an environment, and warnings about names that are almost settings. Those are not errors,
 * because other programs share the environment.
 */
export function readEnvironment(env, names) {
  const settings = {};
  const warnings = [];
  for (const [name, value] of Object.entries(env)) {
    if (names.includes(name)) settings[name] = value;
    else {
      const [known, letters] = nearest(name, names);
      if (letters > (known.length < 8 ? 1 : 2)) continue;
      warnings.push(`the environment variable ${name} is not the name of a setting and does nothing; did you mean ${known}?`);
    }
  }
  return { settings, warnings };
}
