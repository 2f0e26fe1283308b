/* The end of a compiled module: all that Python needs to know of it. Its methods are in `methods`. */

#ifdef Py_GIL_DISABLED
#define WITHOUT_LOCK {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#else
#define WITHOUT_LOCK
#endif

#define DEFINE_MODULE(name, doc) \
    static PyModuleDef_Slot slots[] = {WITHOUT_LOCK {0, NULL}}; \
    static struct PyModuleDef module = { \
        .m_base = PyModuleDef_HEAD_INIT, .m_name = #name, .m_doc = doc, .m_methods = methods, .m_slots = slots}; \
    PyMODINIT_FUNC PyInit_##name(void) { return PyModuleDef_Init(&module); }
