#!/usr/bin/python3
"""bt_locals.py TEXT JSON WHAT LEAST - the variables that a program printed of its own frames, against `hindsight bt --json -gl`.

TEXT: "say", then "frame LINE" for each of some frames and a tab-separated name and value for each variable.  A frame is that of the
function that begins in this line; frames are in order.  WHAT `trace': a value may be said to be in a register; `lua5.1': which
does not tell varargs.
"""
import json
import re
import sys


def said(path):
    out, text = [], open(path, newline='\n').read()
    for line in re.split(r'\n(?=say|frame|\t)', text.rstrip('\n')):
        if line == 'say':
            out.append([])
        elif line.startswith('frame '):
            out[-1].append((int(line[6:]), {}))
        elif line.startswith('\t') and out:
            _, name, value = line.split('\t', 2)
            out[-1][-1][1][name] = value
    return out


def plain(value):
    # what ours says besides: where a function of Lua is from
    value = re.sub(r'(function: 0x[0-9a-f]+) \([^()]*:\d+\)', r'\1', value)
    return value


def main():
    own, found = said(sys.argv[1]), [s for s in json.load(open(sys.argv[2]))['stacks']]
    what, least = sys.argv[3], int(sys.argv[4])
    if len(own) != len(found):
        print(f'{len(own)} moments, {len(found)} found')
        return 1
    compared = wrong = unknown = 0
    for frames, stack in zip(own, found):
        ours = [f for f in stack['frames'] if f['kind'] != 'builtin']
        at = 0
        for line, variables in frames:
            while at < len(ours) and ours[at]['first_line'] != line:
                at += 1
            if at == len(ours):
                print(f"event {stack['event']}: no frame of line {line}: {[f['first_line'] for f in ours]}")
                return 1
            have = {}
            for v in ours[at]['locals'] or []:
                have.setdefault(v['name'], []).append(plain(v['value']))
            if what != 'trace':
                for name in have.keys() - variables.keys():
                    if what == 'lua5.1' and name.startswith('...['):
                        continue
                    wrong += 1
                    print(f"event {stack['event']}, line {line}: there is no {name} = {have[name][0]}")
            for name, value in variables.items():
                got = have.get(name, [None])[-1]
                compared += 1
                if what == 'trace' and got is not None and got.startswith('<'):
                    unknown += 1
                elif got != value and not ('...' in got if got and len(value) > 60 else False):
                    wrong += 1
                    print(f"event {stack['event']}, line {line}: {name} is {value}, was found as {got}")
            at += 1
        if wrong > 5:
            break
    print(f'{what}: {compared} variables, {unknown} not known, {wrong} wrong')
    return wrong != 0 or compared - unknown < least


sys.exit(main())
