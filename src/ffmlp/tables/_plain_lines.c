/* Lines of plain cells, such as 1,-2.5,,red,"dark, red",3e-7, as columns of doubles and of texts.

   Every number is the double nearest to what is written. Anything that is not plain (text among numbers,
   spaces before a cell, quotes within quotes, tokens for missing values, lines that are too short or too long)
   ends the parsing and is left to pandas. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "../_module.h"
#include "_plain_numbers.h"

/* A column with more distinct texts is left to pandas. */
#define MOST_DISTINCT 4096
#define N_SLOTS (2 * MOST_DISTINCT)

static int ends_cell(char letter, char delimiter)
{
    return letter == delimiter || letter == '\r' || letter == '\n';
}

/* Find the text of a cell; returns where the cell ends, or NULL if it is not plain. */
static const char *read_text(const char *at, char delimiter, const char **start, const char **end)
{
    const int is_quoted = *at == '"';
    *start = at += is_quoted;
    if (is_quoted)
        while (*at != '"' && *at != '\r' && *at != '\n' && *at != '\0')
            at++;
    else
        while (!ends_cell(*at, delimiter) && *at != '\0')
            at++;
    *end = at;
    if (is_quoted ? *at != '"' : **start == ' ')
        return NULL;
    return at + is_quoted;
}

/* Read the number of a cell, NaN if it is empty. */
static const char *read_cell(const char *at, char delimiter, char decimal, double *number)
{
    if (ends_cell(*at, delimiter)) {
        *number = NAN;
        return at;
    }
    if (*at != '"')
        return read_number(at, decimal, number);
    at = read_number(at + 1, decimal, number);
    return at != NULL && *at == '"' ? at + 1 : NULL;
}

/* Where the columns of a file go. Places from 0 on are numeric columns, -1 is a column that is not read, -2 the
   first text column, -3 the second. */
typedef struct {
    const int32_t *places;
    Py_ssize_t n_columns, n_rows;
    double *numbers;
    /* For each text column, where the texts begin, then where they end. */
    int64_t *bounds;
} Columns;

/* Read all lines; returns whether they are plain. They must end with a newline: nothing reads past it. */
static int read_lines(const char *start, const char *end, char delimiter, char decimal, const Columns columns)
{
    const Py_ssize_t n_rows = columns.n_rows;
    const char *at = start;
    for (Py_ssize_t row = 0; row < n_rows; row++) {
        /* A blank line is not a row, even where rows have a single cell. */
        if (at == end || (columns.n_columns == 1 && (ends_cell(*at, delimiter) || *at == '\t')))
            return 0;
        for (Py_ssize_t column = 0; column < columns.n_columns; column++) {
            const int is_last = column == columns.n_columns - 1;
            const Py_ssize_t place = columns.places[column];
            if (place < 0) {
                const char *text, *text_end;
                at = read_text(at, delimiter, &text, &text_end);
                if (at != NULL && place < -1) {
                    int64_t *bound = columns.bounds + 2 * (-2 - place) * n_rows + row;
                    bound[0] = text - start;
                    bound[n_rows] = text_end - start;
                }
            } else
                at = read_cell(at, delimiter, decimal, columns.numbers + place * n_rows + row);
            if (at == NULL)
                return 0;
            if (is_last && *at == '\r')
                at++;
            if (*at++ != (is_last ? '\n' : delimiter))
                return 0;
        }
    }
    return at == end;
}

/* Whether all places are within the arrays of numbers and of texts. */
static int places_fit(const Columns *columns, Py_ssize_t n_numbers, Py_ssize_t n_texts)
{
    for (Py_ssize_t column = 0; column < columns->n_columns; column++)
        if (columns->places[column] >= n_numbers || columns->places[column] < -1 - n_texts)
            return 0;
    return 1;
}

static PyObject *read_columns(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    Py_buffer lines, places, numbers, bounds;
    int delimiter, decimal;
    Py_ssize_t n_rows;
    if (!PyArg_ParseTuple(arguments, "y*CCy*nw*w*", &lines, &delimiter, &decimal, &places, &n_rows, &numbers,
                          &bounds))
        return NULL;
    const Py_ssize_t n_columns = places.len / (Py_ssize_t)sizeof(int32_t);
    const Columns columns = {places.buf, n_columns, n_rows, numbers.buf, bounds.buf};
    const char *start = lines.buf, *end = start + lines.len;
    PyObject *answer = NULL;
    if (n_rows < 1 || !places_fit(&columns, numbers.len / (Py_ssize_t)sizeof(double) / n_rows,
                                  bounds.len / (Py_ssize_t)sizeof(int64_t) / 2 / n_rows))
        PyErr_SetString(PyExc_ValueError, "there is no room for all columns");
    else {
        int plain = 0;
        if (lines.len && end[-1] == '\n') {
            Py_BEGIN_ALLOW_THREADS
            plain = read_lines(start, end, (char)delimiter, (char)decimal, columns);
            Py_END_ALLOW_THREADS
        }
        answer = PyBool_FromLong(plain);
    }
    PyBuffer_Release(&lines);
    PyBuffer_Release(&places);
    PyBuffer_Release(&numbers);
    PyBuffer_Release(&bounds);
    return answer;
}

static PyObject *count_lines(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    Py_buffer lines;
    if (!PyArg_ParseTuple(arguments, "y*", &lines))
        return NULL;
    const char *letters = lines.buf;
    Py_ssize_t n_lines = 0;
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t place = 0; place < lines.len; place++)
        n_lines += letters[place] == '\n';
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&lines);
    return PyLong_FromSsize_t(n_lines);
}

/* The number of delimiters outside of quotes; -1 if a quote does not open a cell, or is not closed on its line. */
static Py_ssize_t count_outside(const char *at, const char *end, char delimiter)
{
    Py_ssize_t n_delimiters = 0;
    int is_start = 1;
    for (; at < end; at++) {
        if (*at == '"') {
            if (!is_start)
                return -1;
            do {
                for (at++; at < end && *at != '"' && *at != '\r' && *at != '\n'; at++)
                    ;
                if (at == end || *at != '"')
                    return -1;
                at++;
            } while (at < end && *at == '"'); /* a doubled quote is one within quotes */
            if (at == end || !ends_cell(*at, delimiter))
                return -1;
        }
        n_delimiters += *at == delimiter;
        is_start = ends_cell(*at, delimiter);
    }
    return n_delimiters;
}

static PyObject *count_delimiters(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    Py_buffer lines;
    int delimiter;
    if (!PyArg_ParseTuple(arguments, "y*C", &lines, &delimiter))
        return NULL;
    Py_ssize_t n_delimiters;
    Py_BEGIN_ALLOW_THREADS
    n_delimiters = count_outside(lines.buf, (const char *)lines.buf + lines.len, (char)delimiter);
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&lines);
    return PyLong_FromSsize_t(n_delimiters);
}

/* Texts, by where they begin and end. */
typedef struct {
    const char *lines;
    const int64_t *starts, *ends;
    Py_ssize_t n_texts;
} Texts;

static Texts texts_between(const Py_buffer *lines, const Py_buffer *bounds)
{
    const Py_ssize_t n_texts = bounds->len / (Py_ssize_t)sizeof(int64_t) / 2;
    const int64_t *starts = bounds->buf;
    return (Texts){lines->buf, starts, starts + n_texts, n_texts};
}

static int are_within(const Texts *texts, Py_ssize_t length)
{
    for (Py_ssize_t row = 0; row < texts->n_texts; row++)
        if (texts->starts[row] < 0 || texts->ends[row] < texts->starts[row] || texts->ends[row] > length) {
            PyErr_SetString(PyExc_ValueError, "bounds beyond the lines");
            return 0;
        }
    return 1;
}

/* A list of strings, of the given rows or of all. */
static PyObject *strings(const Texts *texts, const int32_t *rows, Py_ssize_t n_rows)
{
    PyObject *list = PyList_New(n_rows);
    for (Py_ssize_t place = 0; list != NULL && place < n_rows; place++) {
        const Py_ssize_t row = rows == NULL ? place : rows[place];
        const Py_ssize_t length = (Py_ssize_t)(texts->ends[row] - texts->starts[row]);
        PyObject *string = PyUnicode_DecodeUTF8(texts->lines + texts->starts[row], length, NULL);
        if (string == NULL || PyList_SetItem(list, place, string) < 0) {
            Py_DECREF(list);
            list = NULL;
        }
    }
    return list;
}

static PyObject *cut(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    Py_buffer lines, bounds;
    if (!PyArg_ParseTuple(arguments, "y*y*", &lines, &bounds))
        return NULL;
    const Texts texts = texts_between(&lines, &bounds);
    PyObject *answer = are_within(&texts, lines.len) ? strings(&texts, NULL, texts.n_texts) : NULL;
    PyBuffer_Release(&lines);
    PyBuffer_Release(&bounds);
    return answer;
}

static uint64_t hash_of(const char *text, int64_t length)
{
    uint64_t hash = 14695981039346656037u; /* FNV-1a */
    for (int64_t letter = 0; letter < length; letter++)
        hash = (hash ^ (unsigned char)text[letter]) * 1099511628211u;
    return hash ^ hash >> 32;
}

/* The index of each text among the distinct ones, and the first row of each of these. Returns their number, or
   -1 if there are too many. */
static Py_ssize_t find_distinct(const Texts *texts, int32_t *places, int32_t *rows)
{
    /* Indices of distinct texts, from 1 on, by their hash; 0 is an empty slot. */
    uint16_t slots[N_SLOTS] = {0};
    uint16_t n_distinct = 0;
    for (Py_ssize_t row = 0; row < texts->n_texts; row++) {
        const char *text = texts->lines + texts->starts[row];
        const int64_t length = texts->ends[row] - texts->starts[row];
        uint64_t slot = hash_of(text, length) % N_SLOTS;
        for (; slots[slot]; slot = (slot + 1) % N_SLOTS) {
            const int32_t first = rows[slots[slot] - 1];
            if (texts->ends[first] - texts->starts[first] == length
                && memcmp(texts->lines + texts->starts[first], text, (size_t)length) == 0)
                break;
        }
        if (!slots[slot]) {
            if (n_distinct == MOST_DISTINCT)
                return -1;
            rows[n_distinct] = (int32_t)row;
            slots[slot] = ++n_distinct;
        }
        places[row] = slots[slot] - 1;
    }
    return n_distinct;
}

static PyObject *distinct(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    Py_buffer lines, bounds, places;
    if (!PyArg_ParseTuple(arguments, "y*y*w*", &lines, &bounds, &places))
        return NULL;
    const Texts texts = texts_between(&lines, &bounds);
    PyObject *answer = NULL;
    if (places.len != texts.n_texts * (Py_ssize_t)sizeof(int32_t) || texts.n_texts > INT32_MAX)
        PyErr_SetString(PyExc_ValueError, "as many places as texts are needed, and not too many");
    else if (are_within(&texts, lines.len)) {
        int32_t rows[MOST_DISTINCT];
        Py_ssize_t n_distinct;
        Py_BEGIN_ALLOW_THREADS
        n_distinct = find_distinct(&texts, places.buf, rows);
        Py_END_ALLOW_THREADS
        answer = n_distinct < 0 ? Py_NewRef(Py_None) : strings(&texts, rows, n_distinct);
    }
    PyBuffer_Release(&lines);
    PyBuffer_Release(&bounds);
    PyBuffer_Release(&places);
    return answer;
}

static PyMethodDef methods[] = {
    {"read_columns", read_columns, METH_VARARGS,
     "read_columns(lines, delimiter, decimal, places, n_rows, numbers, bounds)\n--\n\n"
     "Write the columns of lines to rows of numbers, and where texts begin and end; whether all was plain."},
    {"count_lines", count_lines, METH_VARARGS,
     "count_lines(lines)\n--\n\n"
     "How many newlines there are."},
    {"count_delimiters", count_delimiters, METH_VARARGS,
     "count_delimiters(lines, delimiter)\n--\n\n"
     "Those outside of quotes; -1 if not all quotes open a cell and close it in its line."},
    {"cut", cut, METH_VARARGS,
     "cut(lines, bounds)\n--\n\n"
     "The texts between bounds."},
    {"distinct", distinct, METH_VARARGS,
     "distinct(lines, bounds, places)\n--\n\n"
     "The distinct texts between bounds, in the order in which they come, and the place of each text among "
     "them; None if there are too many."},
    {NULL, NULL, 0, NULL},
};

DEFINE_MODULE(_plain_lines, "Lines of plain cells as columns of doubles and of texts.")
