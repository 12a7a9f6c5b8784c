/*
 * luajit.c - the objects of LuaJIT (GC64, x86-64) as debug information.
 *
 * Not part of the program: it is compiled for its DWARF alone, which hindsight carries with it, to
 * know the types in machines that were built without any.  Layout: with RAPTOR that of RaptorJIT.
 */
#include <stdint.h>

typedef uint32_t BCIns;
typedef uint8_t MCode;
typedef uint32_t SnapEntry;

enum gct {
	LJ_GCT_STR = 4, LJ_GCT_UPVAL, LJ_GCT_THREAD, LJ_GCT_PROTO, LJ_GCT_FUNC, LJ_GCT_TRACE,
	LJ_GCT_CDATA, LJ_GCT_TAB, LJ_GCT_UDATA
} __attribute__((packed));
enum irtype {
	IRT_NIL, IRT_FALSE, IRT_TRUE, IRT_LIGHTUD, IRT_STR, IRT_P32, IRT_THREAD, IRT_PROTO,
	IRT_FUNC, IRT_P64, IRT_CDATA, IRT_TAB, IRT_UDATA, IRT_FLOAT, IRT_NUM, IRT_I8, IRT_U8,
	IRT_I16, IRT_U16, IRT_INT, IRT_U32, IRT_I64, IRT_U64, IRT_SOFTFP
};
enum linktype {
	LJ_TRLINK_NONE, LJ_TRLINK_ROOT, LJ_TRLINK_LOOP, LJ_TRLINK_TAILREC, LJ_TRLINK_UPREC,
	LJ_TRLINK_DOWNREC, LJ_TRLINK_INTERP, LJ_TRLINK_RETURN, LJ_TRLINK_STITCH
} __attribute__((packed));

#define HEADER struct GCobj *nextgc; uint8_t marked; enum gct gct

struct GCobj { HEADER; };

typedef struct GCstr {
	HEADER;
	uint8_t reserved, hashalg;
#ifdef RAPTOR
	uint32_t hash;
	uint32_t len;
	uint32_t unused;
#else
	uint32_t sid;
	uint32_t hash;
	uint32_t len;
#endif
	char text[];
} GCstr;

typedef union TValue {
	uint64_t u64;
	double n;
	struct GCobj *gcr;
} TValue;

typedef struct GCupval {
	HEADER;
	uint8_t closed, immutable;
	uint32_t dhash_pad;
	union { TValue tv; struct { struct GCupval *prev, *next; } open; } u;
	TValue *v;
	uint32_t dhash;
} GCupval;

typedef struct GCproto {
	HEADER;
	uint8_t numparams, framesize;
	uint32_t sizebc;
	uint32_t unused_gc64;
	struct GCobj *gclist;
	uint64_t *k;
	uint16_t *uv;
	uint32_t sizekgc, sizekn, sizept;
	uint8_t sizeuv, flags;
	uint16_t trace;
	GCstr *chunkname;
	int32_t firstline, numline;
	void *lineinfo;
	uint32_t *uvinfo;
	char *varinfo;
#ifdef RAPTOR
	char *declname;
#endif
	BCIns bytecode[];
} GCproto;

typedef struct GCfunc {
	HEADER;
	uint8_t ffid, nupvalues;
	uint32_t unused;
	struct GCtab *env;
	struct GCobj *gclist;
	BCIns *pc;
	GCupval *uvptr[];
} GCfunc;

typedef struct Node {
	TValue val, key;
	struct Node *next;
} Node;

typedef struct GCtab {
	HEADER;
	uint8_t nomm;
	int8_t colo;
	TValue *array;
	struct GCobj *gclist;
	struct GCtab *metatable;
	Node *node;
	uint32_t asize, hmask;
	Node *freetop;
} GCtab;

typedef struct IRIns {
	uint16_t op1, op2;
	uint8_t t, o;
	uint8_t r, s;
} IRIns;

typedef struct SnapShot {
	uint32_t mapofs;
	uint16_t ref, mcofs;
	uint8_t nslots, topslot, nent, count;
} SnapShot;

typedef struct GCtrace {
	HEADER;
	uint16_t nsnap;
	uint32_t nins;
	uint32_t unused_gc64;
	struct GCobj *gclist;
	IRIns *ir;
	uint32_t nk, nsnapmap;
	SnapShot *snap;
	SnapEntry *snapmap;
	GCproto *startpt;
	BCIns *startpc;
	BCIns startins;
	uint32_t szmcode;
	MCode *mcode;
	uint32_t mcloop;
#ifdef RAPTOR
	uint32_t nszirmcode;
	uint16_t *szirmcode;
#endif
	uint16_t nchild, spadjust, traceno, link, root, nextroot, nextside;
#ifdef RAPTOR
	uint16_t parent, exitno, unused;
	uint8_t sinktags;
#else
	uint8_t sinktags;
#endif
	uint8_t topslot;
	enum linktype linktype;
	uint8_t unused1;
} GCtrace;

typedef struct BCRecLog {
	GCproto *pt;
	uint32_t pos;
	int32_t framedepth;
} BCRecLog;

/* As far as it is the same everywhere. */
typedef struct jit_State {
	GCtrace cur;
} jit_State;

typedef struct lua_State {
	HEADER;
	uint8_t dummy_ffid, status;
	uint32_t unused;
	void *glref;
	struct GCobj *gclist;
	TValue *base, *top;
	TValue *maxstack, *stack;
	struct GCobj *openupval;
	GCtab *env;
	void *cframe;
	uint32_t stacksize;
} lua_State;

#define AT(type, field, offset) \
	_Static_assert(__builtin_offsetof(type, field) == (offset), #type "." #field)
AT(GCstr, text, 24);
AT(GCproto, numparams, 10);
AT(GCproto, k, 32);
AT(GCproto, uv, 40);
AT(GCproto, sizept, 56);
AT(GCproto, trace, 62);
AT(GCproto, chunkname, 64);
AT(GCproto, lineinfo, 80);
AT(GCfunc, pc, 32);
AT(SnapShot, nent, 10);
AT(GCtrace, ir, 32);
AT(GCtrace, snap, 48);
AT(GCtrace, startpt, 64);
AT(GCtrace, mcode, 88);
#ifdef RAPTOR
AT(GCstr, len, 16);
AT(GCproto, bytecode, 112);
AT(GCtrace, traceno, 116);
AT(GCtrace, linktype, 134);
#else
AT(GCstr, len, 20);
AT(GCproto, bytecode, 104);
AT(GCtrace, traceno, 104);
AT(GCtrace, linktype, 116);
#endif
AT(lua_State, status, 11);
AT(lua_State, stack, 56);
AT(lua_State, cframe, 80);

/* Compilers leave out types that no variable has. */
extern struct hindsight_types {
	GCstr *str;
	GCupval *upval;
	GCproto *proto;
	GCfunc *func;
	GCtab *tab;
	GCtrace *trace;
	jit_State *J;
	lua_State *L;
	BCRecLog *log;
	MCode *mcode;
	enum irtype irt;
} hindsight_types;
struct hindsight_types hindsight_types;
