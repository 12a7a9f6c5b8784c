
# ---- conditions that gdb evaluates itself ----
#
# A condition that gdb cannot compile for the server (`$_streq', a call, a character) is a stop of the replay each time: some milliseconds,
# backwards more.  Here such a condition is written anew, as one that gdb can compile and that holds wherever the first one does; the server
# stops there only, and gdb looks again.  For `continue' and `reverse-continue' alone: other moves have breakpoints of gdb's own on their way.

_OPS = {'add': 2, 'sub': 3, 'mul': 4, 'div_signed': 5, 'div_unsigned': 6, 'rem_signed': 7, 'rem_unsigned': 8, 'lsh': 9, 'rsh_signed': 10,
        'rsh_unsigned': 11, 'log_not': 14, 'bit_and': 15, 'bit_or': 16, 'bit_xor': 17, 'bit_not': 18, 'equal': 19, 'less_signed': 20,
        'less_unsigned': 21, 'ext': 22, 'ref8': 23, 'ref16': 24, 'ref32': 25, 'ref64': 26, 'if_goto': 32, 'goto': 33, 'const8': 34,
        'const16': 35, 'const32': 36, 'const64': 37, 'reg': 38, 'end': 39, 'dup': 40, 'pop': 41, 'zero_ext': 42, 'swap': 43, 'pick': 50,
        'rot': 51}
_OPERANDS = {'ext': 1, 'zero_ext': 1, 'const8': 1, 'pick': 1, 'if_goto': 2, 'goto': 2, 'const16': 2, 'reg': 2, 'const32': 4, 'const64': 8}
_LANGUAGES = 'auto|c|c\\+\\+|asm|minimal|rust|go|d|objective-c'     # whose operators are C's
_WORD = re.compile(r'''"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])+'|[$\w.]+|&&|\|\||\+\+|--|[=!<>]=|->|<<|>>|\s+|.''', re.DOTALL)
_ESCAPES = {'\\0': 0, '\\a': 7, '\\b': 8, '\\t': 9, '\\n': 10, '\\v': 11, '\\f': 12, '\\r': 13, '\\\\': 92, "\\'": 39}
_TEXT = r'"([\x20\x21\x23-\x5b\x5d-\x7e]*)"$'       # ASCII, without escapes
_CHANGES = {'++', '--', '=', ':='}
_PURE = {'$_streq', '$_memeq', '$_regex', '$_strlen', 'strcmp', 'strncmp', 'sizeof'}

_going = 0.0, ''         # when `continue' or `reverse-continue' began, and what the server is to be told
_implied_told = False            # it has been, for this move


@_command('maintenance hindsight-going', gdb.COMMAND_MAINTENANCE)
def _set_going(arg):
    """The program goes on now, without breakpoints of gdb's own on its way."""
    global _going
    try:
        _going = time.monotonic(), _conditions()
    except gdb.error:
        _going = 0.0, ''


def _conditions_told():
    global _going, _implied_told
    began, conditions = _going
    _implied_told = False
    _going = 0.0, ''
    if not hasattr(gdb.events, 'free_objfile'):
        return              # other breakpoints may come to be where those of a library were
    if conditions and time.monotonic() - began < 1:
        _implied_told = True
        _said('monitor conditions' + conditions)


for _name in ('continue', 'reverse-continue'):
    try:
        _said('show user hook-' + _name)
    except gdb.error:
        gdb.execute('define hook-%s\nmaintenance hindsight-going\nend' % _name)


def _conditions_end(event):
    """A library goes: its breakpoints, too, and others may come to be there."""
    global _implied_told
    if _implied_told:
        _implied_told = False
        _said('monitor conditions')


if hasattr(gdb.events, 'free_objfile'):
    gdb.events.free_objfile.connect(_conditions_end)


def _split(words, separator):
    """At these, outside all brackets."""
    parts, depth = [[]], 0
    for word in words:
        depth += (word in ('(', '[', '{')) - (word in (')', ']', '}'))
        if word == separator and not depth:
            parts.append([])
        else:
            parts[-1].append(word)
    return parts


def _bare(words):
    """Without blanks at its ends, and brackets around all of it."""
    while words and words[0].isspace():
        words = words[1:]
    while words and words[-1].isspace():
        words = words[:-1]
    if len(words) > 2 and words[0] == '(' and words[-1] == ')':
        depth = 0
        for i, word in enumerate(words):
            depth += (word == '(') - (word == ')')
            if not depth:
                return _bare(words[1:-1]) if i == len(words) - 1 else words
    return words


def _numbers_for_characters(words):
    return [str(_ESCAPES[w[1:-1]] if w[1:-1] in _ESCAPES else ord(w[1:-1]))
            if w[0] == "'" and after != ':' and (w[1:-1] in _ESCAPES or re.match("'[ -~]'$", w)) else w
            for w, after in zip(words, words[1:] + [''])]


def _begins(text, letters, ends):
    """Is text this?  An array that the letters fill has no 0 behind them."""
    tests = ['(%s)[%d] == %d' % (text, i, ord(c)) for i, c in enumerate(letters)]
    if ends:
        tests.append('(sizeof(%s) == %d || (%s)[%d] == 0)' % (text, len(letters), text, len(letters)))
    return ' && '.join(tests)


def _of_texts(words):
    """A comparison with a text, as comparisons of characters; '' for anything else."""
    call = ''.join(words)
    compared = re.match(r'(!?) *(?:\( *int *\) *)?(\$_streq|\$_regex|strn?cmp) *\((.*)\)( *== *0)?$', call, re.DOTALL)
    if not compared or bool(compared.group(1) or compared.group(4)) != ('cmp' in compared.group(2)):
        return ''
    name = compared.group(2)
    args = [''.join(_bare(a)) for a in _split(_WORD.findall(compared.group(3)), ',')]
    if len(args) != 2 + (name == 'strncmp') or (compared.group(1) and compared.group(4)):
        return ''
    if name != '$_regex' and re.match(_TEXT, args[0]):
        args[:2] = args[1], args[0]
    text = re.match(_TEXT, args[1])
    if not text or not _is_pure(_WORD.findall(args[0])):
        return ''
    letters, ends = text.group(1), True
    if name == '$_regex':       # what it begins with, whatever follows
        if re.search(r'[|\\]|\(\?', letters):
            return ''
        plain = re.match(r'\^?([\w /:;,=<>@%&~"\'!`-]*)(.?)', letters)
        letters, ends = plain.group(1)[:-1] if plain.group(2) and plain.group(2) in '*?{' else plain.group(1), False
    elif name == 'strncmp':
        if not args[2].isdigit():
            return ''
        ends = int(args[2]) > len(letters)
        letters = letters[:int(args[2])]
    return _begins(args[0], letters, ends)


def _is_pure(words):
    """Does it change nothing, so that it need not be evaluated?"""
    called = [w for w, after in zip(words, words[1:] + ['']) if after == '(' and re.match(r'[$\w]', w)]
    return not _CHANGES.intersection(words) and all(w in _PURE for w in called) and \
        not any(w.startswith('$') and re.match(r'\$_?_?[a-zA-Z_]\w*$', w) and w not in _PURE for w in called)


def _code_of(expression, place):
    """What gdb compiles it to at that place, a name and an address; b'' where it cannot."""
    where, address = place
    try:
        said = _said('maintenance agent-eval -at %s, %s' % (where, expression))
    except gdb.error:
        return b''
    code, here = b'', False
    for line in said.splitlines():
        op = re.match(r' *(\d+) +(\w+)(?: +(-?\d+))?$', line)
        scope = re.match(r'Scope: 0x([0-9a-f]+)', line)
        if scope:
            here = int(scope.group(1), 16) == address
        if not op or not here:
            continue
        size = _OPERANDS.get(op.group(2), 0)
        if op.group(2) not in _OPS or int(op.group(1)) != len(code) or bool(size) != bool(op.group(3)):
            return b''
        code += bytes((_OPS[op.group(2)],)) + (int(op.group(3) or 0) & (1 << 8 * size) - 1).to_bytes(size, 'big')
    return code if len(code) < 0x1000 else b''


def _place_file_name(b, address):
    """For `maintenance agent-eval', which takes no address."""
    if b.location and b.location[0] != '*':
        return b.location
    sal = gdb.find_pc_line(address)
    return '"%s":%d' % (_file_name(sal.symtab), sal.line) if sal.symtab and sal.pc == address else ''


def _implied(words, place):
    """A condition that gdb can compile, and that holds wherever this one does; '': none is known."""
    words = _bare(words)
    if len(_split(words, ',')) > 1 or len(_split(words, '?')) > 1:
        return ''
    either = _split(words, '||')
    if len(either) > 1:
        all_of_them = [_implied(part, place) if _is_pure(words) else '' for part in either]
        return ' || '.join('(%s)' % part for part in all_of_them) if all(all_of_them) else ''
    found = []
    for part in _split(words, '&&'):
        plain = ''.join(_numbers_for_characters(part))
        inner = _bare(part)
        here = _of_texts(inner) or ('' if _code_of(plain, place) or len(_split(inner, '||')) < 2 else _implied(inner, place)) or plain
        if _code_of(here, place):
            found.append('(%s)' % here)
        elif not _is_pure(part):
            break               # what comes behind it is evaluated where it is not
    return ' && '.join(found)


def _conditions():
    """For the server: " ADDRESS:CODE,CODE"..., where one of these holds if any condition of that place does."""
    points = [b for b in gdb.breakpoints() if b.enabled and hasattr(b, 'locations') and b.locations]
    if not any(b.condition for b in points) or sum(1 for i in gdb.inferiors() if i.pid) != 1 or \
            not re.search(r'"(auto; currently )?(%s)"' % _LANGUAGES, _said('show language')):
        return ''
    codes, others = {}, set()
    for b in points:
        for place in b.locations:
            if not place.enabled or place.address is None:
                continue
            code, at = b'', (_place_file_name(b, place.address), place.address)
            if b.condition and at[0]:
                expression = b.condition
                code = _code_of(expression, at)
                if not code:
                    expression = _implied(_WORD.findall(b.condition), at)
                    code = expression and _code_of(expression, at)
            if code:
                codes.setdefault(place.address, []).append((expression != b.condition, code))
            else:
                others.add(place.address)
    ours = {a: [code for _, code in of] for a, of in codes.items() if a not in others and any(new for new, _ in of)}
    if not ours:
        return ''
    for line in _said('maintenance info breakpoints').splitlines():
        own = re.match(r'(-\d|0\b).* 0x([0-9a-f]+)', line)
        if own:
            ours.pop(int(own.group(2), 16), None)
    return ''.join(' %x:%s' % (a, ','.join(code.hex() for code in of)) for a, of in ours.items())
