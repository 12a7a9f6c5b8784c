#!/bin/bash
# test: timeout=300 soak
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
# Its own page, in a browser: bars in many colours, where an empty page has none.
command -v chromium >/dev/null && command -v python3 >/dev/null || exit 0
"$REC" -o loops "$prog" loops 3000000 >/dev/null || fail 'rec failed'
"$HINDSIGHT" profile -q --speedscope=l.json loops || fail 'profile failed'
python3 -c 'import base64; open("load.js", "w").write("speedscope.loadFileFromBase64(\"l.json\", \"%s\")" % base64.b64encode(open("l.json", "rb").read()).decode())'
root=; [ "$(id -u)" != 0 ] || root="--no-sandbox --no-zygote"
for arg in "" "#localProfilePath=$PWD/load.js"; do
	HOME=$PWD TMPDIR=/tmp timeout 60 chromium --headless $root --use-gl=angle --use-angle=swiftshader --enable-unsafe-swiftshader --allow-file-access-from-files \
		--no-first-run --disable-background-networking --disable-crash-reporter --disable-breakpad --user-data-dir="$PWD/profile" --virtual-time-budget=8000 \
		--window-size=1200,700 --screenshot="$PWD/shot${arg:+2}.png" "file://$PWD/npm/node_modules/speedscope/dist/release/index.html$arg" >/dev/null 2>err
	status=$?
	for _ in 1 2 3 4 5 6 7 8 9 10; do		# its helpers may outlive it: those of this folder
		pkill -KILL -f -- "--user-data-dir=$PWD/profile" || break
		sleep 0.1
	done
	[ $status = 0 ] || exit 0	# no browser here
done
[ -s shot2.png ] || exit 0
cat >colours.py <<'X2'
import struct, zlib
from collections import Counter
def colours(path):		# how many light colours with 3,000 pixels or more; of RGB or RGBA, 8 bits
    b, at, data = open(path, "rb").read(), 8, b""
    while at < len(b):
        n, kind = struct.unpack(">I4s", b[at:at + 8])
        if kind == b"IHDR":
            w, h, _, form = struct.unpack(">IIBB", b[at + 8:at + 18])
        if kind == b"IDAT":
            data += b[at + 8:at + 8 + n]
        at += n + 12
    px, raw, old, seen = 4 if form == 6 else 3, zlib.decompress(data), bytearray(w * 4), Counter()
    for y in range(h):
        f, row = raw[y * (w * px + 1)], bytearray(raw[y * (w * px + 1) + 1:(y + 1) * (w * px + 1)])
        for i in range(len(row)):
            a, u, c = row[i - px] if i >= px else 0, old[i], old[i - px] if i >= px else 0
            p = a + u - c
            row[i] = (row[i] + (0, a, u, (a + u) // 2, min((a, u, c), key=lambda v: abs(p - v)))[f]) & 255
        old = row
        seen.update(bytes(row[i:i + 3]) for i in range(0, len(row), px))
    return sum(1 for c, n in seen.items() if n >= 3000 and max(c) - min(c) > 15 and min(c) > 120)
empty, full = colours("shot.png"), colours("shot2.png")
assert full >= 4 and full > empty + 3, (empty, full)
X2
python3 colours.py || fail 'nothing drawn'
