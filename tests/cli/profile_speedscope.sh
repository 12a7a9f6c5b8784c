#!/bin/bash
# test: timeout=150 soak
# A recording with threads as speedscope's own schema wants it: its npm package has the schema, so this needs the network.
. "$LIB"
command -v npm >/dev/null || skip 'npm is not installed'
prog=$BUILD/tests/cli/profile_loops
mkdir -p npm
(cd npm && timeout -k 5 60 npm install --prefix . --silent --prefer-offline speedscope ajv >/dev/null 2>&1) || skip 'npm does not get speedscope and ajv'
"$REC" -o threads "$prog" threads >/dev/null || fail 'rec failed'
"$HINDSIGHT" profile -q --speedscope=s.json threads || fail 'profile failed'
cat >npm/check.js <<'X'
const Ajv = require("ajv"), fs = require("fs"), read = f => JSON.parse(fs.readFileSync(f));
const ajv = new Ajv({ strict: false }), schema = read("node_modules/speedscope/dist/release/file-format-schema.json");
if (!ajv.validate(schema, read("../s.json"))) { console.log(JSON.stringify(ajv.errors)); process.exit(1); }
X
(cd npm && node check.js) >said 2>&1 || fail "speedscope's schema: $(cut -c1-300 said)"
