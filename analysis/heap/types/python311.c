/*
 * python311.c - objects of CPython 3.11 (x86-64) as debug information: see luajit.c.
 */
#include <stdint.h>

typedef struct PyTypeObject PyTypeObject;

#define HEAD int64_t ob_refcnt; PyTypeObject *ob_type
#define VAR_HEAD HEAD; int64_t ob_size

typedef struct PyObject { HEAD; } PyObject;

typedef struct PyUnicodeObject {
	HEAD;
	int64_t length, hash;
	uint32_t interned : 2, kind : 3, compact : 1, ascii : 1, ready : 1;
	void *wstr;
	char text[];		/* of ASCII */
} PyUnicodeObject;

typedef struct PyBytesObject {
	VAR_HEAD;
	int64_t ob_shash;
	char ob_sval[];
} PyBytesObject;

typedef struct PyTupleObject {
	VAR_HEAD;
	PyObject *ob_item[];
} PyTupleObject;

typedef struct PyCodeObject {
	VAR_HEAD;		/* instructions */
	PyTupleObject *co_consts, *co_names;
	PyBytesObject *co_exceptiontable;
	int co_flags;
	int16_t co_warmup, _co_linearray_entry_size;
	int co_argcount, co_posonlyargcount, co_kwonlyargcount, co_stacksize, co_firstlineno;
	int co_nlocalsplus, co_nlocals, co_nplaincellvars, co_ncellvars, co_nfreevars;
	PyTupleObject *co_localsplusnames;
	PyBytesObject *co_localspluskinds;
	PyUnicodeObject *co_filename, *co_name, *co_qualname;
	PyBytesObject *co_linetable;
	PyObject *co_weakreflist;
	PyBytesObject *_co_code;
	char *_co_linearray;
	int _co_firsttraceable;
	void *co_extra;
	uint16_t co_code_adaptive[];
} PyCodeObject;

enum dict_keys_kind {
	DICT_KEYS_GENERAL, DICT_KEYS_UNICODE, DICT_KEYS_SPLIT,
} __attribute__((packed));

typedef struct PyDictKeyEntry {
	int64_t me_hash;
	PyObject *me_key, *me_value;
} PyDictKeyEntry;

typedef struct PyDictUnicodeEntry {
	PyUnicodeObject *me_key;
	PyObject *me_value;
} PyDictUnicodeEntry;

typedef struct PyDictKeysObject {
	int64_t dk_refcnt;
	uint8_t dk_log2_size, dk_log2_index_bytes;
	enum dict_keys_kind dk_kind;
	uint32_t dk_version;
	int64_t dk_usable, dk_nentries;
	int8_t dk_indices[];	/* 1 << dk_log2_index_bytes bytes, then entries */
} PyDictKeysObject;

typedef struct PyDictObject {
	HEAD;
	int64_t ma_used;
	uint64_t ma_version_tag;
	PyDictKeysObject *ma_keys;
	PyObject **ma_values;
} PyDictObject;

struct PyTypeObject {
	VAR_HEAD;
	const char *tp_name;
	int64_t tp_basicsize, tp_itemsize;
	void *tp_dealloc;
	int64_t tp_vectorcall_offset;
	void *tp_getattr, *tp_setattr, *tp_as_async, *tp_repr, *tp_as_number, *tp_as_sequence;
	void *tp_as_mapping, *tp_hash, *tp_call, *tp_str, *tp_getattro, *tp_setattro, *tp_as_buffer;
	uint64_t tp_flags;
	const char *tp_doc;
	void *tp_traverse, *tp_clear, *tp_richcompare;
	int64_t tp_weaklistoffset;
	void *tp_iter, *tp_iternext, *tp_methods, *tp_members, *tp_getset;
	PyTypeObject *tp_base;
	PyDictObject *tp_dict;
	void *tp_descr_get, *tp_descr_set;
	int64_t tp_dictoffset;
	void *tp_init, *tp_alloc, *tp_new, *tp_free, *tp_is_gc;
	PyTupleObject *tp_bases, *tp_mro;
	PyObject *tp_cache, *tp_subclasses, *tp_weaklist;
	void *tp_del;
	uint32_t tp_version_tag;
	void *tp_finalize, *tp_vectorcall;
};

#define AT(type, field, offset) \
	_Static_assert(__builtin_offsetof(type, field) == (offset), #type "." #field)
AT(PyUnicodeObject, text, 48);
AT(PyBytesObject, ob_sval, 32);
AT(PyTupleObject, ob_item, 24);
AT(PyCodeObject, co_firstlineno, 72);
AT(PyCodeObject, co_filename, 112);
AT(PyCodeObject, co_qualname, 128);
AT(PyCodeObject, co_linetable, 136);
AT(PyCodeObject, co_code_adaptive, 184);
AT(PyDictKeysObject, dk_nentries, 24);
AT(PyDictKeysObject, dk_indices, 32);
AT(PyDictObject, ma_keys, 32);
AT(PyTypeObject, tp_flags, 168);
AT(PyTypeObject, tp_base, 256);
AT(PyTypeObject, tp_dict, 264);
AT(PyTypeObject, tp_mro, 344);
_Static_assert(sizeof(PyDictObject) == 48 && sizeof(PyTypeObject) == 408, "sizes");

/* Compilers leave out types that no variable has. */
extern struct hindsight_types {
	PyCodeObject *code;
	PyTypeObject *type;
	PyDictObject *dict;
	PyDictUnicodeEntry *entry;
	PyDictKeyEntry *general;
	PyUnicodeObject *text;
	PyBytesObject *bytes;
	PyTupleObject *tuple;
} hindsight_types;
struct hindsight_types hindsight_types;
