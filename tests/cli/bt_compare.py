#!/usr/bin/python3
"""bt_compare.py luajit|lua|python|node TEXT JSON - what a program printed of its own stack, against `hindsight bt --json`.

TEXT is what the program wrote: tracebacks in the language's own words.  JSON has a stack for each write; writes without a
traceback (a newline of its own) are left out by the caller's choice of program.  Ends with 0 when all are equal.
"""
import json
import re
import sys


def lua(text):
    out = []
    for line in text.splitlines():
        if line == 'stack traceback:':
            out.append([])
        elif line.startswith('\t') and out:
            line = line[1:]
            if line.startswith('[C]:'):
                m = re.search(r"in (?:function|method|field|upvalue|local) '([^']*)'", line)
                out[-1].append(('[C]', m.group(1) if m else '?'))
            elif line.startswith('(...tail calls...)') or line == '...':
                out[-1].append((line, ''))
            elif line == '(tail call): ?':              # 5.1
                out[-1].append(('(...tail', ''))
            else:
                m = re.match(r'(.*?):(\d+): in (.*)$', line)
                where, name = f'{m.group(1)}:{m.group(2)}', m.group(3)
                name = re.sub(r"^(?:function|method|field|upvalue|local|metamethod) ", '', name).strip("'")
                out[-1].append((where, name))
    return out


def python(text):
    out = []
    for line in text.splitlines():
        if line == 'stack:':
            out.append([])
        m = re.match(r'  (\S+):(\d+) (.*)$', line)
        if m:
            out[-1].append((f'{m.group(1)}:{m.group(2)}', m.group(3)))
    return out


def node(text):
    out = []
    for line in text.splitlines():
        m = re.match(r'    at (?:(.*) \()?([^()]*):(\d+):\d+\)?$', line)
        if line.startswith('Error'):
            out.append([])
        elif m and out:
            name = re.sub(r' \[as .*\]$|^(async|new) ', '', m.group(1) or '')
            out[-1].append((f'{m.group(2)}:{m.group(3)}', name.split('.')[-1]))
        elif line.startswith('    at ') and out and '(<anonymous>)' in line:
            out[-1].append(('builtin', line.split()[1].split('.')[-1]))
    return out


def frames(stack, language):
    out = []
    for f in stack['frames']:
        if f['kind'] in ('host', 'gc'):
            continue
        if f['kind'] == 'builtin':
            if language == 'node':
                out.append(('builtin', (f['function'] or '').split('.')[-1]))
            if language == 'lua':
                out.append(('[C]', f['function'] or '?'))
            continue
        name = f['function'] or '?'
        out.append((f"{f['file']}:{f['line']}", name))
    return out


def main():
    language, text, found = sys.argv[1], open(sys.argv[2]).read(), json.load(open(sys.argv[3]))['stacks']
    strict, language = language == 'luajit', 'lua' if language == 'luajit' else language
    own = {'lua': lua, 'python': python, 'node': node}[language](text)
    bad = [s for s in found if not s['complete']]
    if bad:
        print(f'{len(bad)} stacks are not complete: {bad[0]["why"]}')
        return 1
    if len(own) != len(found):
        print(f'the program printed {len(own)} stacks, {len(found)} were found')
        return 1
    wrong = 0
    for a, s in zip(own, found):
        b = frames(s, language)
        if language == 'python':
            b = b[1:]                   # what prints
        while language == 'lua' and b and b[0][0] == '[C]':
            b.pop(0)                    # what prints
        if language == 'lua':           # the language names its own functions by other means
            strip = lambda v: [(w, '' if w == '[C]' else re.sub(r'^function ', '', n)) for w, n in v]
            a = [f for f in a if not f[0].startswith('(...tail')]
            if not strict:              # Lua also knows functions by the tables of its libraries
                a = [(w, y[1] if y[0] == w and y[1].startswith('<') else n) for (w, n), y in zip(a, b + [('', '')] * len(a))]
            if a and a[-1][0] != '[C]':
                b = b[:len(a)]          # of a coroutine: it ends where that began
        elif language == 'node':        # functions without a name have one by where they are called
            while b and b[0][0].startswith(('node:', 'builtin')):
                b.pop(0)                # what prints
            # builtins that were inlined have no frame
            strip = lambda v: [(w, re.sub(r'^(<anonymous>|\?|eval)$', '', n.split('.')[-1])) for w, n in v if w != 'builtin']
        else:
            strip = lambda v: v
        if strip(a) != strip(b):
            wrong += 1
            if wrong <= 3:
                print(f"event {s['event']}: the program says")
                print('\n'.join(f'    {w} {n}' for w, n in strip(a)))
                print('  but was found')
                print('\n'.join(f'    {w} {n}' for w, n in strip(b)))
    print(f'{len(own)} stacks, {wrong} wrong')
    return wrong != 0 or not own


sys.exit(main())
