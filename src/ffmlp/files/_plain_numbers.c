/* Lines of plain numbers, such as "1,-2.5,,3e-7", as columns of doubles; one column may hold texts.

   Every number is the double nearest to what is written. Whatever is not as plain as that (texts, quotes,
   spaces, signs of missing values, lines that are too short or too long) ends the parsing: pandas has to
   look at it. */

#define Py_LIMITED_API 0x030b0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* No integer of more digits is sure to fit into 64 bits. */
#define MOST_DIGITS 19
/* Exponents of more are left to pandas. */
#define MOST_EXPONENT_DIGITS 4
/* In the place of a column, instead of the column of numbers that it goes to. */
#define NOWHERE -1
#define TEXTS -2

#if FLT_EVAL_METHOD == 0
/* The powers of ten that are doubles without rounding. */
static const double TENS[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                              1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
#define MOST_TENS 22
#endif

#if LDBL_MANT_DIG == 64
/* And those that are extended doubles. */
static const long double LONG_TENS[] = {1e0L,  1e1L,  1e2L,  1e3L,  1e4L,  1e5L,  1e6L,  1e7L,  1e8L,  1e9L,
                                        1e10L, 1e11L, 1e12L, 1e13L, 1e14L, 1e15L, 1e16L, 1e17L, 1e18L, 1e19L,
                                        1e20L, 1e21L, 1e22L, 1e23L, 1e24L, 1e25L, 1e26L, 1e27L};
#define MOST_LONG_TENS 27
#endif

static int is_digit(char letter)
{
    return letter >= '0' && letter <= '9';
}

/* Digits behind those that were read before: returns where they end. */
static const char *read_digits(const char *at, uint64_t *number)
{
    for (; is_digit(*at); at++)
        *number = 10 * *number + (uint64_t)(*at - '0');
    return at;
}

/* digits * 10^exponent, if one rounding gives the nearest double; returns whether it does. */
static int rounded_once(uint64_t digits, int exponent, double *number)
{
#if FLT_EVAL_METHOD == 0
    if (digits <= (uint64_t)1 << DBL_MANT_DIG && exponent >= -MOST_TENS && exponent <= MOST_TENS) {
        *number = exponent < 0 ? (double)digits / TENS[-exponent] : (double)digits * TENS[exponent];
        return 1;
    }
#endif
#if LDBL_MANT_DIG == 64
    if (digits != 0 && exponent >= -MOST_LONG_TENS && exponent <= MOST_LONG_TENS) {
        const long double close = exponent < 0 ? (long double)digits / LONG_TENS[-exponent]
                                               : (long double)digits * LONG_TENS[exponent];
        uint64_t bits;
        memcpy(&bits, &close, sizeof bits);
        /* The second rounding drops 11 bits. It goes wrong only where the first one has made them a half. */
        if ((bits & 0x7ff) != 0x400) {
            *number = (double)close;
            return 1;
        }
    }
#endif
    return 0;
}

/* The number that is written somewhere: returns where it ends, or NULL if it is not plain. */
static const char *read_number(const char *start, char decimal, double *number)
{
    const int negative = *start == '-';
    const char *first = start + negative;
    uint64_t digits = 0;
    const char *at = read_digits(first, &digits);
    Py_ssize_t n_digits = at - first, n_decimals = 0;
    if (*at == decimal) {
        const char *point = at;
        at = read_digits(at + 1, &digits);
        n_decimals = at - point - 1;
        n_digits += n_decimals;
    }
    if (n_digits == 0)
        return NULL;
    Py_ssize_t exponent = 0;
    if (*at == 'e' || *at == 'E') {
        at++;
        const int small = *at == '-';
        at += *at == '-' || *at == '+';
        uint64_t size = 0;
        const char *end = read_digits(at, &size);
        if (end == at || end - at > MOST_EXPONENT_DIGITS)
            return NULL;
        exponent = small ? -(Py_ssize_t)size : (Py_ssize_t)size;
        at = end;
    }
    for (; n_digits > MOST_DIGITS && (*first == '0' || *first == decimal); first++)
        n_digits -= *first == '0';
    exponent -= n_decimals;
    const int fits = n_digits <= MOST_DIGITS && exponent > INT16_MIN && exponent < INT16_MAX;
    double size;
    if (!fits || !rounded_once(digits, (int)exponent, &size)) {
        char *end;
        size = fabs(strtod(start, &end));
        /* In some places of the world, strtod ends at the decimal mark. */
        if (end != at || size > DBL_MAX)
            return NULL;
    }
    *number = negative ? -size : size;
    return at;
}

/* Whether all lines are plain. A column of the file goes to the column of numbers at its place, each of
   n_rows; of texts, the bounds go to two columns. The last letter must be a newline: nothing reads past it. */
static int read_lines(const char *start, const char *end, char delimiter, char decimal, const int32_t *places,
                      Py_ssize_t n_columns, double *numbers, int64_t *bounds, Py_ssize_t n_rows)
{
    const char *at = start;
    for (Py_ssize_t row = 0; row < n_rows; row++) {
        for (Py_ssize_t column = 0; column < n_columns; column++) {
            const int is_last = column == n_columns - 1;
            if (at == end)
                return 0;
            if (places[column] < 0) {
                const char *text = at;
                while (*at != delimiter && *at != '\r' && *at != '\n' && *at != '\0')
                    at++;
                if (places[column] == TEXTS) {
                    if (*text == ' ')
                        return 0;
                    bounds[row] = text - start;
                    bounds[n_rows + row] = at - start;
                }
            } else {
                double *number = numbers + places[column] * n_rows + row;
                if (*at == delimiter && !is_last)
                    *number = NAN;
                else if ((at = read_number(at, decimal, number)) == NULL)
                    return 0;
            }
            if (is_last && *at == '\r')
                at++;
            if (*at++ != (is_last ? '\n' : delimiter))
                return 0;
        }
    }
    return at == end;
}

static PyObject *read_columns(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    Py_buffer lines, places, numbers, bounds;
    int delimiter, decimal;
    if (!PyArg_ParseTuple(arguments, "y*CCy*w*w*", &lines, &delimiter, &decimal, &places, &numbers, &bounds))
        return NULL;
    const char *start = lines.buf, *end = start + lines.len;
    const Py_ssize_t n_columns = places.len / (Py_ssize_t)sizeof(int32_t);
    const int32_t *place = places.buf;
    Py_ssize_t n_wanted = 0;
    int has_texts = 0;
    for (Py_ssize_t column = 0; column < n_columns; column++) {
        n_wanted = place[column] >= n_wanted ? place[column] + 1 : n_wanted;
        has_texts |= place[column] == TEXTS;
    }
    const Py_ssize_t n_rows = n_wanted ? numbers.len / (Py_ssize_t)sizeof(double) / n_wanted : 0;
    const int has_room = !has_texts || bounds.len / (Py_ssize_t)sizeof(int64_t) / 2 >= n_rows;
    int plain = 0;
    if (n_rows && has_room && lines.len && end[-1] == '\n') {
        Py_BEGIN_ALLOW_THREADS
        plain = read_lines(start, end, (char)delimiter, (char)decimal, place, n_columns, numbers.buf,
                           bounds.buf, n_rows);
        Py_END_ALLOW_THREADS
    }
    PyBuffer_Release(&lines);
    PyBuffer_Release(&places);
    PyBuffer_Release(&numbers);
    PyBuffer_Release(&bounds);
    return PyBool_FromLong(plain);
}

/* A list of strings, or an error if the bounds of one are wrong or it is not UTF-8. */
static PyObject *cut(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    Py_buffer lines, bounds;
    if (!PyArg_ParseTuple(arguments, "y*y*", &lines, &bounds))
        return NULL;
    const Py_ssize_t n_texts = bounds.len / (Py_ssize_t)sizeof(int64_t) / 2;
    const int64_t *starts = bounds.buf, *ends = starts + n_texts;
    PyObject *texts = PyList_New(n_texts);
    for (Py_ssize_t row = 0; texts != NULL && row < n_texts; row++) {
        PyObject *text = NULL;
        if (starts[row] < 0 || ends[row] < starts[row] || ends[row] > lines.len)
            PyErr_SetString(PyExc_ValueError, "bounds beyond the lines");
        else
            text = PyUnicode_DecodeUTF8((const char *)lines.buf + starts[row],
                                        (Py_ssize_t)(ends[row] - starts[row]), NULL);
        if (text == NULL || PyList_SetItem(texts, row, text) < 0) {
            Py_DECREF(texts);
            texts = NULL;
        }
    }
    PyBuffer_Release(&lines);
    PyBuffer_Release(&bounds);
    return texts;
}

static PyMethodDef methods[] = {
    {"read_columns", read_columns, METH_VARARGS,
     "read_columns(lines, delimiter, decimal, places, numbers, bounds)\n--\n\n"
     "Write the columns of lines to rows of numbers, and where texts begin and end; whether all was plain."},
    {"cut", cut, METH_VARARGS,
     "cut(lines, bounds)\n--\n\n"
     "The texts between bounds."},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {{0, NULL}};

static struct PyModuleDef module = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "_plain_numbers",
    .m_doc = "Lines of plain numbers as columns of doubles.",
    .m_methods = methods,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__plain_numbers(void)
{
    return PyModuleDef_Init(&module);
}
