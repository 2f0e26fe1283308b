/* np.interp, with the same results to the last bit, in a sixth of the time for many values. Without it,
   `ffmlp predict` takes 1.46 times as much processor time for 500 000 rows of 20 columns and 50 neurons, and 1.17
   times with the default model.

   A grid of equal cells narrows the search: a value is compared with the knots in its own cell only. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "../_module.h"

/* With as many cells as values, building the grid takes less time than using it. */
#define FEWEST_CELLS 64
#define MOST_CELLS 8192

typedef struct {
    const double *knots, *scores;
    double *slopes;
    int32_t n_knots, n_cells;
    double cells_per_unit;
    /* The number of knots in the cells before each one; the last entry counts all knots. */
    int32_t before[MOST_CELLS + 1];
} Map;

/* Monotone in the value, even where rounding or overflow gives a wrong cell. */
static inline int32_t cell_of(const Map *map, double value)
{
    const double place = (value - map->knots[0]) * map->cells_per_unit, last = map->n_cells - 1;
    return place > 0.0 ? (int32_t)(place < last ? place : last) : 0;
}

static void set_up(Map *map)
{
    map->cells_per_unit = map->n_cells / (map->knots[map->n_knots - 1] - map->knots[0]);
    int32_t cell = 0;
    for (int32_t knot = 0; knot < map->n_knots; knot++)
        for (const int32_t own = cell_of(map, map->knots[knot]); cell <= own; cell++)
            map->before[cell] = knot;
    for (; cell <= map->n_cells; cell++)
        map->before[cell] = map->n_knots;
    for (int32_t knot = 0; knot + 1 < map->n_knots; knot++)
        map->slopes[knot] =
            (map->scores[knot + 1] - map->scores[knot]) / (map->knots[knot + 1] - map->knots[knot]);
}

static inline double score_of(const Map *map, double value)
{
    const int32_t cell = cell_of(map, value);
    int32_t reached = map->before[cell], end = map->before[cell + 1];
    while (reached < end) {
        const int32_t middle = reached + (end - reached) / 2;
        if (map->knots[middle] <= value)
            reached = middle + 1;
        else
            end = middle;
    }
    if (reached == 0) /* np.interp has no NaN where the map is constant */
        return isnan(value) && map->n_knots > 1 ? value : map->scores[0];
    if (reached == map->n_knots)
        return map->scores[map->n_knots - 1];
    const double *knot = map->knots + reached - 1, *score = map->scores + reached - 1;
    if (value == knot[0])
        return score[0];
    const double slope = map->slopes[reached - 1];
    const double result = slope * (value - knot[0]) + score[0];
    /* NaN is infinity times 0: the knots are extremely far apart. The other knot is nearer. */
    return isnan(result) ? slope * (value - knot[1]) + score[1] : result;
}

/* A one-dimensional buffer of doubles, contiguous or strided. */
static int get_doubles(PyObject *object, Py_buffer *buffer, int flags)
{
    if (PyObject_GetBuffer(object, buffer, flags | PyBUF_STRIDES | PyBUF_FORMAT) < 0)
        return -1;
    const uintptr_t places = (uintptr_t)buffer->buf | (uintptr_t)(buffer->ndim == 1 ? buffer->strides[0] : 0);
    if (buffer->ndim == 1 && buffer->format[0] == 'd' && buffer->format[1] == '\0' && places % sizeof(double) == 0)
        return 0;
    PyBuffer_Release(buffer);
    PyErr_SetString(PyExc_TypeError, "Arrays must be one-dimensional, aligned and of type float64.");
    return -1;
}

/* Returns -1 if memory runs out. */
static int write_scores(const Py_buffer *values, const Py_buffer *knots, const Py_buffer *scores,
                        const Py_buffer *results)
{
    const Py_ssize_t n_values = values->shape[0];
    Map map;
    map.knots = knots->buf;
    map.scores = scores->buf;
    map.n_knots = (int32_t)knots->shape[0];
    map.n_cells = n_values > MOST_CELLS ? MOST_CELLS : n_values < FEWEST_CELLS ? FEWEST_CELLS : (int32_t)n_values;
    map.slopes = malloc((size_t)map.n_knots * sizeof(double));
    if (map.slopes == NULL)
        return -1;
    set_up(&map);
    const char *value = values->buf;
    char *result = results->buf;
    for (Py_ssize_t row = 0; row < n_values; row++, value += values->strides[0], result += results->strides[0])
        *(double *)result = score_of(&map, *(const double *)value);
    free(map.slopes);
    return 0;
}

static PyObject *interpolate(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *objects[4];
    if (!PyArg_ParseTuple(arguments, "OOOO", &objects[0], &objects[1], &objects[2], &objects[3]))
        return NULL;
    const int flags[4] = {0, PyBUF_C_CONTIGUOUS, PyBUF_C_CONTIGUOUS, PyBUF_WRITABLE};
    Py_buffer buffers[4], *values = &buffers[0], *knots = &buffers[1], *scores = &buffers[2], *results = &buffers[3];
    int n_buffers = 0;
    while (n_buffers < 4 && get_doubles(objects[n_buffers], &buffers[n_buffers], flags[n_buffers]) == 0)
        n_buffers++;
    PyObject *answer = NULL;
    if (n_buffers == 4) {
        const Py_ssize_t n_knots = knots->shape[0];
        if (values->shape[0] != results->shape[0])
            PyErr_SetString(PyExc_ValueError, "results must have as many entries as values.");
        else if (n_knots != scores->shape[0] || n_knots < 1 || n_knots > INT32_MAX)
            PyErr_SetString(PyExc_ValueError, "scores must have as many entries as knots, at least 1 and at most 2**31 - 1.");
        else {
            int failed;
            Py_BEGIN_ALLOW_THREADS
            failed = write_scores(values, knots, scores, results);
            Py_END_ALLOW_THREADS
            answer = failed ? PyErr_NoMemory() : Py_NewRef(Py_None);
        }
    }
    while (n_buffers--)
        PyBuffer_Release(&buffers[n_buffers]);
    return answer;
}

static PyMethodDef methods[] = {
    {"interpolate", interpolate, METH_VARARGS,
     "interpolate(values, knots, scores, results)\n--\n\n"
     "Write np.interp(values, knots, scores) to results."},
    {NULL, NULL, 0, NULL},
};

DEFINE_MODULE(_interpolation, "Piecewise linear interpolation of many values.")
