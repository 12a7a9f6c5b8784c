#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* make(n): a list whose reference count is one too many */
static PyObject *make(PyObject *self, PyObject *arg)
{
	PyObject *list = PyList_New(0);

	if (!list)
		return NULL;
	PyList_Append(list, arg);
	Py_INCREF(list); /* UNPAIRED */
	return list;
}

static PyMethodDef methods[] = { { "make", make, METH_O, "make" }, { 0 } };
static struct PyModuleDef module = { PyModuleDef_HEAD_INIT, "leaky", NULL, -1, methods };
PyMODINIT_FUNC PyInit_leaky(void) { return PyModule_Create(&module); }
