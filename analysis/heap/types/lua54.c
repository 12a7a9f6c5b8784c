/*
 * lua54.c - the objects of Lua 5.4 (x86-64) as debug information: see luajit.c.
 */
#include <stdint.h>

/* Types of objects, without LUA_COLLECTABLE; types of values, with it. */
enum lua_type {
	LUA_NIL = 0, LUA_FALSE = 1, LUA_LIGHTUSERDATA = 2, LUA_INT = 3, LUA_SHORT_STRING = 4,
	LUA_TABLE = 5, LUA_CLOSURE = 6, LUA_USERDATA = 7, LUA_THREAD = 8, LUA_UPVALUE = 9,
	LUA_PROTO = 10, LUA_EMPTY = 16, LUA_TRUE = 17, LUA_FLOAT = 19, LUA_LONG_STRING = 20,
	LUA_LIGHT_C_FUNCTION = 22, LUA_ABSENT_KEY = 32, LUA_C_CLOSURE = 38,
	LUA_SHORT_STRING_VALUE = 68, LUA_TABLE_VALUE = 69, LUA_CLOSURE_VALUE = 70,
	LUA_USERDATA_VALUE = 71, LUA_THREAD_VALUE = 72, LUA_LONG_STRING_VALUE = 84,
	LUA_C_CLOSURE_VALUE = 102,
} __attribute__((packed));

#define HEADER struct GCObject *next; enum lua_type tt; uint8_t marked

typedef uint32_t Instruction;
typedef struct lua_State lua_State;

struct GCObject { HEADER; };

typedef struct TString {
	HEADER;
	uint8_t extra, shrlen;
	uint32_t hash;
	union { uint64_t lnglen; struct TString *hnext; } u;
	char contents[];
} TString;

/* By the type beside it. */
union Value {
	struct Table *table;
	struct LClosure *closure;
	struct CClosure *c_closure;
	TString *short_string, *long_string;
	struct Udata *userdata;
	lua_State *thread;
	void *lightuserdata;
	int (*light_c_function)(lua_State *L);
	int64_t integer;
	double flt;
};

typedef struct TValue {
	union Value value_;
	enum lua_type tt_;
} TValue;

typedef struct UpVal {
	HEADER;
	uint8_t tbc;
	TValue *v;
	TValue value;
} UpVal;

typedef struct Upvaldesc {
	TString *name;
	uint8_t instack, idx, kind;
} Upvaldesc;

typedef struct LocVar {
	TString *varname;
	int startpc, endpc;
} LocVar;

typedef struct AbsLineInfo { int pc, line; } AbsLineInfo;

typedef struct Proto {
	HEADER;
	uint8_t numparams, is_vararg, maxstacksize;
	int sizeupvalues, sizek, sizecode, sizelineinfo, sizep, sizelocvars, sizeabslineinfo;
	int linedefined, lastlinedefined;
	TValue *k;
	Instruction *code;
	struct Proto **p;
	Upvaldesc *upvalues;
	int8_t *lineinfo;
	AbsLineInfo *abslineinfo;
	LocVar *locvars;
	TString *source;
	struct GCObject *gclist;
} Proto;

typedef struct LClosure {
	HEADER;
	uint8_t nupvalues;
	struct GCObject *gclist;
	Proto *p;
	UpVal *upvals[];
} LClosure;

typedef struct CClosure {
	HEADER;
	uint8_t nupvalues;
	struct GCObject *gclist;
	int (*f)(lua_State *L);
	TValue upvalue[];
} CClosure;

typedef struct Node {
	union Value value_;
	enum lua_type tt_, key_tt;
	int next;
	union Value key_val;
} Node;

typedef struct Table {
	HEADER;
	uint8_t flags, lsizenode;
	uint32_t alimit;
	TValue *array;
	Node *node, *lastfree;
	struct Table *metatable;
	struct GCObject *gclist;
} Table;

typedef struct Udata {
	HEADER;
	uint16_t nuvalue;
	uint64_t len;
	Table *metatable;
	struct GCObject *gclist;
	TValue uv[];
} Udata;

typedef struct CallInfo {
	TValue *func, *top;
	struct CallInfo *previous, *next;
	Instruction *savedpc;
} CallInfo;

struct lua_State {
	HEADER;
	uint8_t status, allowhook;
	uint16_t nci;
	TValue *top;
	struct global_State *l_G;
	CallInfo *ci;
	TValue *stack_last, *stack;
	UpVal *openupval;
};

#define AT(type, field, offset) \
	_Static_assert(__builtin_offsetof(type, field) == (offset), #type "." #field)
AT(TString, contents, 24);
AT(UpVal, v, 16);
AT(Proto, linedefined, 44);
AT(Proto, code, 64);
AT(Proto, lineinfo, 88);
AT(Proto, source, 112);
AT(LClosure, p, 24);
AT(CClosure, upvalue, 32);
AT(Node, key_val, 16);
AT(Table, node, 24);
AT(Table, metatable, 40);
AT(Udata, uv, 40);
AT(lua_State, l_G, 24);
AT(lua_State, stack, 48);
_Static_assert(sizeof(Proto) == 128 && sizeof(Table) == 56 && sizeof(Node) == 24, "sizes");

/* Compilers leave out types that no variable has. */
extern struct hindsight_types {
	Proto *proto;
	LClosure *closure;
	CClosure *c_closure;
	Table *table;
	Udata *udata;
	TString *string;
	UpVal *upval;
	lua_State *L;
} hindsight_types;
struct hindsight_types hindsight_types;
