#!/bin/bash
# test: timeout=240
# Code of LLVM's ORC that is removed again, and other code put where it was: leaks name what ran, by function and line; gdb's stacks too,
# forwards and from where all of it is gone backwards; `hindsight jit' has each for as long as it was there.
. "$LIB"
[ -z "$PLAIN" ] || skip 'needs a recording'
need clang-14 llvm-config-14 gcc gdb python3
cat >host.c <<'X2'
#include <llvm-c/Core.h>
#include <llvm-c/ExecutionEngine.h>
#include <llvm-c/LLJIT.h>
#include <llvm-c/Orc.h>
#include <llvm-c/OrcEE.h>
#include <llvm-c/IRReader.h>
#include <llvm-c/Target.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void check(LLVMErrorRef e)
{
	if (e) {
		fprintf(stderr, "%s\n", LLVMGetErrorMessage(e));
		_exit(1);
	}
}

static LLVMOrcObjectLayerRef layer(void *ctx, LLVMOrcExecutionSessionRef es, const char *triple)
{
	LLVMOrcObjectLayerRef l = LLVMOrcCreateRTDyldObjectLinkingLayerWithSectionMemoryManager(es);

	LLVMOrcRTDyldObjectLinkingLayerRegisterJITEventListener(l, LLVMCreateGDBRegistrationListener());
	return l;
}

int main(int argc, char **argv)
{
	LLVMOrcLLJITBuilderRef b;
	LLVMOrcLLJITRef jit;
	LLVMOrcDefinitionGeneratorRef g;

	LLVMInitializeNativeTarget();
	LLVMInitializeNativeAsmPrinter();
	b = LLVMOrcCreateLLJITBuilder();
	LLVMOrcLLJITBuilderSetObjectLinkingLayerCreator(b, layer, NULL);
	check(LLVMOrcCreateLLJIT(&jit, b));
	check(LLVMOrcCreateDynamicLibrarySearchGeneratorForProcess(&g, LLVMOrcLLJITGetGlobalPrefix(jit), NULL, NULL));
	LLVMOrcJITDylibAddGenerator(LLVMOrcLLJITGetMainJITDylib(jit), g);
	for (int i = 1; i < argc; i++) {
		LLVMOrcResourceTrackerRef t = LLVMOrcJITDylibCreateResourceTracker(LLVMOrcLLJITGetMainJITDylib(jit));
		LLVMOrcThreadSafeContextRef c = LLVMOrcCreateNewThreadSafeContext();
		LLVMMemoryBufferRef text;
		LLVMModuleRef m;
		LLVMOrcExecutorAddress at;
		char *error;

		if (LLVMCreateMemoryBufferWithContentsOfFile(argv[i], &text, &error) || LLVMParseIRInContext(LLVMOrcThreadSafeContextGetContext(c), text, &m, &error))
			return 1;
		check(LLVMOrcLLJITAddLLVMIRModuleWithRT(jit, t, LLVMOrcCreateNewThreadSafeModule(m, c)));
		LLVMOrcDisposeThreadSafeContext(c);
		check(LLVMOrcLLJITLookup(jit, &at, "entry"));
		printf("%d at %#lx\n", i, (unsigned long)at);
		((void (*)(void))at)();
		check(LLVMOrcResourceTrackerRemove(t));
		LLVMOrcReleaseResourceTracker(t);
	}
	getuid();
	fflush(stdout);
	_exit(0);
}
X2
gcc -w -O1 -g -o host host.c $(llvm-config-14 --cflags --ldflags) -lLLVM-14 2>err || skip "no LLVM to link: $(tail -1 err)"
for i in 1 2 3; do
	printf '#include <stdlib.h>\n#include <unistd.h>\n' >u$i.c
	for _ in $(seq $i); do echo >>u$i.c; done
	echo "__attribute__((noinline)) static void *work$i(int n) { return calloc(1, n); }" >>u$i.c
	echo "void entry(void) { for (int i = 0; i < 20; i++) work$i(1000 * $i)" '; getppid(); }' >>u$i.c
	clang-14 -O1 -g -S -emit-llvm -fno-builtin -o u$i.ll u$i.c || fail clang
done
"$REC" -o t ./host u1.ll u2.ll u3.ll >out || fail "rec: $(cat out)"
"$HINDSIGHT" jit -q --json --history t >list || fail jit
"$HINDSIGHT" leaks -q --json --moments=1 t >found 2>err || fail "leaks: $(cat err)"
python3 - <<'X2' || fail "names: $(cut -c1-400 found)"
import json
fns = [f for f in json.load(open("list"))["functions"] if f["name"].startswith("work")]
assert sorted(f["name"] for f in fns) == ["work1", "work2", "work3"], fns
assert all(f["death"] and f["death"] >= f["birth"] for f in fns), fns
seen = set()
for l in json.load(open("found"))["leaks"]:
    st = l["alloc"]["stack"]
    i = l["bytes"] // l["blocks"] // 1000
    if l["bytes"] != l["blocks"] * 1000 * i or not 1 <= i <= 3 or st[0]["function"] is None or not st[0]["function"].startswith("work"):
        continue
    seen.add(i)
    assert (st[0]["function"], st[0]["line"], st[0]["file"].split("/")[-1]) == (f"work{i}", 3 + i, f"u{i}.c"), st
    assert (st[1]["function"], st[1]["line"]) == ("entry", 4 + i) and st[2]["function"] == "main", st
assert seen == {1, 2, 3}, seen
X2
printf 'set pagination off\nbreak main\ncontinue\nbreak getppid\ncontinue\necho \\n@1\\n\nbt 3\ncontinue\ncontinue\necho \\n@2\\n\nbt 3\nbreak getuid\ncontinue\necho \\n@3\\n\nbt 3\nreverse-continue\nreverse-continue\necho \\n@4\\n\nbt 3\n' >script
timeout 90 "$REPLAY" --batch -x script t >log 2>&1 || fail "replay: $(tail -3 log)"
for n in 1:1 2:3 4:2; do
	sed -n "/^@${n%:*}\$/,/^@$((${n%:*} + 1))\$/p" log | grep -q "^#1 .* in entry () at .*u${n#*:}.c:$((4 + ${n#*:}))" || fail "stop $n: $(cat log)"
done
exit 0
