/* Arrays that Python passes, as C-contiguous buffers. */

/* A buffer of a type: 'h' for int16, 'i' for int32, 'f' for float32, 'd' for float64. */
static int get_table(PyObject *object, Py_buffer *buffer, char type, int ndim, int flags)
{
    if (PyObject_GetBuffer(object, buffer, flags | PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) < 0)
        return -1;
    const char *format = buffer->format;
    const int same = format[0] == type || (type == 'i' && format[0] == 'l');
    const Py_ssize_t size = type == 'd' ? 8 : type == 'h' ? 2 : 4;
    const int is_aligned = (uintptr_t)buffer->buf % size == 0;
    if (buffer->ndim == ndim && same && format[1] == '\0' && buffer->itemsize == size && is_aligned)
        return 0;
    PyBuffer_Release(buffer);
    PyErr_SetString(PyExc_TypeError, "An array has the wrong type, alignment or number of dimensions.");
    return -1;
}

static void release(Py_buffer *buffers, int n)
{
    while (n--)
        PyBuffer_Release(&buffers[n]);
}

/* Several buffers, all or none of them; those from `writable` on are written. */
static int get_tables(PyObject **objects, Py_buffer *buffers, const char *types, const int *ndims, int n, int writable)
{
    for (int i = 0; i < n; i++)
        if (get_table(objects[i], &buffers[i], types[i], ndims[i], i < writable ? 0 : PyBUF_WRITABLE) < 0) {
            release(buffers, i);
            return -1;
        }
    return 0;
}

/* Whether all integers of a list are indices below a limit. */
static int are_within(const Py_buffer *list, Py_ssize_t limit)
{
    const int32_t *indices = list->buf;
    for (Py_ssize_t i = 0; i < list->shape[0]; i++)
        if (indices[i] < 0 || indices[i] >= limit)
            return 0;
    return 1;
}

/* Whether a table is of shape (n, m), or a list of length n; an error if not. */
static inline int has_shape(const Py_buffer *table, Py_ssize_t n_rows, Py_ssize_t n_columns)
{
    if (table->shape[0] == n_rows && (table->ndim == 1 || table->shape[1] == n_columns))
        return 1;
    PyErr_SetString(PyExc_ValueError, "The arrays must fit each other.");
    return 0;
}

/* Whether a list has n indices below a limit; an error if not. */
static inline int are_indices(const Py_buffer *list, Py_ssize_t n, Py_ssize_t limit)
{
    return has_shape(list, are_within(list, limit) ? n : -1, 0);
}
