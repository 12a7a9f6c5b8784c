/*
 * luajit_names.h - names of LuaJIT 2.1's instructions, by number.
 *
 * Bytecode: "NAME D" with the kind of operand D, or "NAME BC" with those of B and C: v slot, s
 * string, n number, p nil/false/true, u upvalue, j jump, f function, l number as it is, i the same
 * with a sign, t table, c cdata, - none.
 * IR: "NAME 12" with the kinds of both operands: r reference, l number, c constant, - none.
 * RaptorJIT has the same without PROF.
 */
#ifndef ANALYSIS_HEAP_LUAJIT_NAMES_H
#define ANALYSIS_HEAP_LUAJIT_NAMES_H

static const char *const bytecode_names[] = {
	"ISLT v", "ISGE v", "ISLE v", "ISGT v", "ISEQV v", "ISNEV v", "ISEQS s", "ISNES s",
	"ISEQN n", "ISNEN n", "ISEQP p", "ISNEP p", "ISTC v", "ISFC v", "IST v", "ISF v",
	"ISTYPE l", "ISNUM l", "MOV v", "NOT v", "UNM v", "LEN v", "ADDVN vn", "SUBVN vn",
	"MULVN vn", "DIVVN vn", "MODVN vn", "ADDNV vn", "SUBNV vn", "MULNV vn", "DIVNV vn",
	"MODNV vn", "ADDVV vv", "SUBVV vv", "MULVV vv", "DIVVV vv", "MODVV vv", "POW vv", "CAT vv",
	"KSTR s", "KCDATA c", "KSHORT i", "KNUM n", "KPRI p", "KNIL l", "UGET u", "USETV v",
	"USETS s", "USETN n", "USETP p", "UCLO j", "FNEW f", "TNEW l", "TDUP t", "GGET s",
	"GSET s", "TGETV vv", "TGETS vs", "TGETB vl", "TGETR vv", "TSETV vv", "TSETS vs",
	"TSETB vl", "TSETM n", "TSETR vv", "CALLM ll", "CALL ll", "CALLMT l", "CALLT l",
	"ITERC ll", "ITERN ll", "VARG ll", "ISNEXT j", "RETM l", "RET l", "RET0 l", "RET1 l",
	"FORI j", "JFORI j", "FORL j", "IFORL j", "JFORL l", "ITERL j", "IITERL j", "JITERL l",
	"LOOP j", "ILOOP j", "JLOOP l", "JMP j", "FUNCF -", "IFUNCF -", "JFUNCF l", "FUNCV -",
	"IFUNCV -", "JFUNCV l", "FUNCC -", "FUNCCW -",
};

enum { IR_BASE = 13, IR_PROF = 21, IR_KPRI, IR_KINT, IR_KGC, IR_KPTR, IR_KKPTR, IR_KNULL, IR_KNUM,
       IR_KINT64, IR_KSLOT };
static const char *const ir_names[] = {
	"LT rr", "GE rr", "LE rr", "GT rr", "ULT rr", "UGE rr", "ULE rr", "UGT rr", "EQ rr",
	"NE rr", "ABC rr", "RETF rr", "NOP --", "BASE ll", "PVAL l-", "GCSTEP --", "HIOP rr",
	"LOOP --", "USE r-", "PHI rr", "RENAME rl", "PROF --", "KPRI --", "KINT c-", "KGC c-",
	"KPTR c-", "KKPTR c-", "KNULL c-", "KNUM c-", "KINT64 c-", "KSLOT rl", "BNOT r-",
	"BSWAP r-", "BAND rr", "BOR rr", "BXOR rr", "BSHL rr", "BSHR rr", "BSAR rr", "BROL rr",
	"BROR rr", "ADD rr", "SUB rr", "MUL rr", "DIV rr", "MOD rr", "POW rr", "NEG rr", "ABS rr",
	"LDEXP rr", "MIN rr", "MAX rr", "FPMATH rl", "ADDOV rr", "SUBOV rr", "MULOV rr", "AREF rr",
	"HREFK rr", "HREF rr", "NEWREF rr", "UREFO rl", "UREFC rl", "FREF rl", "TMPREF rl",
	"STRREF rr", "LREF --", "ALOAD r-", "HLOAD r-", "ULOAD r-", "FLOAD rl", "XLOAD rl",
	"SLOAD ll", "VLOAD rl", "ALEN rr", "ASTORE rr", "HSTORE rr", "USTORE rr", "FSTORE rr",
	"XSTORE rr", "SNEW rr", "XSNEW rr", "TNEW ll", "TDUP r-", "CNEW rr", "CNEWI rr",
	"BUFHDR rl", "BUFPUT rr", "BUFSTR rr", "TBAR r-", "OBAR rr", "XBAR --", "CONV rl",
	"TOBIT rr", "TOSTR rl", "STRTO r-", "CALLN rl", "CALLA rl", "CALLL rl", "CALLS rl",
	"CALLXS rr", "CARG rr",
};
enum { IR_SLOAD = 71, IR_FLOAD = 69, IR_FREF = 62, IR_CONV = 91 };

enum { IRT_STR = 4, IRT_NUM = 14 };
static const char *const ir_types[] = {
	"nil", "fal", "tru", "lud", "str", "p32", "thr", "pro", "fun", "p64", "cdt", "tab",
	"udt", "flt", "num", "i8", "u8", "i16", "u16", "int", "u32", "i64", "u64", "sfp",
};

static const char *const link_names[] = {
	"none", "root", "loop", "tail-recursion", "up-recursion", "down-recursion", "interpreter",
	"return", "stitch",
};

static const char *const error_names[] = {
	"error thrown or hook called during recording", "trace too short", "trace too long",
	"trace too deep", "too many snapshots", "blacklisted", "retry recording", "NYI: bytecode",
	"leaving loop in root trace", "inner loop in root trace", "loop unroll limit reached",
	"bad argument type", "JIT compilation disabled for function", "call unroll limit reached",
	"down-recursion, restarting", "NYI: unsupported variant of FastFunc",
	"NYI: return to lower frame", "store with nil or NaN key", "missing metamethod",
	"looping index lookup", "NYI: mixed sparse/dense table", "symbol not in cache",
	"NYI: unsupported C type conversion", "NYI: unsupported C function type",
	"guard would always fail", "too many PHIs", "persistent type instability",
	"failed to allocate mcode memory", "machine code too long", "hit mcode limit (retrying)",
	"too many spill slots", "inconsistent register allocation",
	"NYI: cannot assemble IR instruction", "NYI: PHI shuffling too complex",
	"NYI: register coalescing too complex",
};

#endif
