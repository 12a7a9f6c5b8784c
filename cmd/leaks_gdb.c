/*
 * leaks_gdb.c - `hindsight leaks` inside gdb: list the leaks, go to the moment of loss of one.
 *
 * The analysis is the command of the same name, run beside the debugger and asked once.
 */
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "cmd/leaks.h"

static const char commands[] =
	"import gdb, json, os, subprocess\n"
	"class _HsLeaks(gdb.Command):\n"
	"    \"\"\"hindsight leaks [N [alloc]] - list the memory that was lost; go to the moment "
	"leak N was lost, or to its allocation.\"\"\"\n"
	"    found = None\n"
	"    def __init__(self):\n"
	"        try: gdb.execute('help hindsight', to_string=True)\n"
	"        except gdb.error: gdb.execute('define-prefix hindsight')\n"
	"        super().__init__('hindsight leaks', gdb.COMMAND_RUNNING)\n"
	"    def ask(self):\n"
	"        if _HsLeaks.found is None:\n"
	"            p = subprocess.run([_hs_bin, 'leaks', '--json', '-q', _hs_trace], "
	"stdout=subprocess.PIPE, stderr=subprocess.PIPE)\n"
	"            if p.returncode: raise gdb.GdbError(p.stderr.decode(errors='replace').strip())"
	"\n"
	"            _HsLeaks.found = json.loads(p.stdout)['leaks']\n"
	"        return _HsLeaks.found\n"
	"    def frame(self, stack):\n"
	"        for f in stack:\n"
	"            if f['file']: return '%s at %s:%s' % (f['function'], "
	"os.path.basename(f['file']), f['line'])\n"
	"        return stack[0]['function'] if stack else '?'\n"
	"    def invoke(self, arg, tty):\n"
	"        leaks, words = self.ask(), arg.split()\n"
	"        if not words:\n"
	"            for i, l in enumerate(leaks, 1):\n"
	"                print('%d. %s: %d bytes in %d blocks%s, allocated by %s%s' % (i, "
	"l['kind'], l['bytes'], l['blocks'],\n"
	"                    ' of ' + l['type'] if l['type'] else '', "
	"self.frame(l['alloc']['stack']),\n"
	"                    ', %s by %s' % (l['lost_at']['how'], "
	"self.frame(l['lost_at']['stack'])) if l['lost_at'] else ''))\n"
	"            if not leaks: print('No leaks.')\n"
	"            return\n"
	"        if not words[0].isdigit() or not 1 <= int(words[0]) <= len(leaks):\n"
	"            raise gdb.GdbError('hindsight leaks N: N is 1 to %d' % len(leaks))\n"
	"        l = leaks[int(words[0]) - 1]\n"
	"        at = l['alloc'] if words[1:] == ['alloc'] else l['lost_at']\n"
	"        if not at: raise gdb.GdbError('the moment of loss of this one is not known')\n"
	"        gdb.execute('monitor seek %d' % at['event'], to_string=True)\n"
	"        gdb.execute('reverse-stepi', to_string=bool(at.get('count')))\n"
	"        if not at.get('count'): return\n"
	"        b = gdb.Breakpoint('*' + at['address'], internal=True)\n"
	"        b.ignore_count = at['count'] - 1\n"
	"        try: gdb.execute('continue')\n"
	"        finally: b.delete()\n"
	"_HsLeaks()\n";

static void python_string(FILE *f, const char *name, const char *value)
{
	fprintf(f, "%s = '", name);
	for (const unsigned char *p = (const unsigned char *)value; *p; p++)
		fprintf(f, "\\x%02x", *p);
	fputs("'.encode('latin-1').decode(errors='surrogateescape')\n", f);
}

void leaks_gdb(FILE *f, const char *trace_dir)
{
	char path[PATH_MAX], *slash;
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 16);

	if (n <= 0)
		return;
	path[n] = '\0';
	slash = strrchr(path, '/');
	memcpy(slash + 1, "hindsight", sizeof("hindsight"));
	python_string(f, "_hs_bin", path);
	python_string(f, "_hs_trace", trace_dir);
	fputs(commands, f);
}
