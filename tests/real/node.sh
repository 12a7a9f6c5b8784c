#!/bin/bash
# test: timeout=300
# node: code hot enough for the JIT compilers, a worker thread, timers, streams, a child process.
. "$LIB"
need node
cat > "$TMP/t.js" <<'JS'
const { Worker, isMainThread, parentPort, workerData } = require('worker_threads');
const { execFileSync } = require('child_process'), crypto = require('crypto'), fs = require('fs'), zlib = require('zlib');
function hot(n) { let a = 0, o = { x: 1, y: 2.5 }; for (let i = 0; i < n; i++) { a = (a * 31 + (i ^ (i >> 3)) + o.x) | 0; o.y += a % 7; } return [a, o.y]; }
if (!isMainThread) { parentPort.postMessage(hot(workerData)); return; }
console.log(hot(3000000));
const m = new Map(); for (let i = 0; i < 20000; i++) m.set('k' + i, { i, s: String(i).repeat(3) });
console.log([...m.values()].reduce((a, v) => a + v.s.length, 0));
console.log(crypto.createHash('sha256').update(fs.readFileSync('/usr/include/stdio.h')).digest('hex'), zlib.gunzipSync(zlib.gzipSync(Buffer.alloc(100000, 'ab'))).length);
console.log(execFileSync('sh', ['-c', 'echo child; exit 0']).toString());
const w = new Worker(__filename, { workerData: 500000 });
w.on('message', r => { console.log('worker', r); });
w.on('exit', c => { console.log('exit', c); setTimeout(() => { console.error('timer'); process.exitCode = 9; }, 5); });
Promise.all([1, 2, 3].map(x => new Promise(r => setImmediate(() => r(x * 2))))).then(r => console.log(r));
JS
both node "$TMP/t.js"
