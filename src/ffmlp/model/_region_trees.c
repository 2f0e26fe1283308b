/* The region of each sample in each tree, and the sum of the values of these regions.

   Several samples go down a tree at the same time, because each step waits for memory. After some steps, those
   that have arrived are left out. The table must be that of a checked RegionTrees: indices within range, and
   every way ends in a region. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdint.h>

#include "../_module.h"
#include "../_tables.h"

#define SAMPLES_AT_ONCE 16
/* Steps until those that have arrived are left out: as many as a tree of equal ways has and two more, then few. */
#define MORE_STEPS 2
/* The responses of a block of rows stay in the cache (160 kB) while each tree is read once. */
#define RESPONSES_AT_ONCE 40960
#define FEWEST_ROWS 64
#define MOST_ROWS 512

/* A node or a region. A sample goes on to place next, or the one after it if its response exceeds the threshold.
   A region is its own next place, and no response exceeds its threshold. */
typedef struct {
    int32_t axis;
    float threshold;
    int32_t next;
    int32_t region;
} Place;

/* Results go to found (n, T) if it is not NULL, and are added to sums (n, C) otherwise. */
typedef struct {
    const float *responses;
    Py_ssize_t n_rows, n_axes;
    const Place *places;
    const int32_t *n_nodes;
    Py_ssize_t n_trees;
    int32_t *found;
    const double *values;
    Py_ssize_t n_classes;
    double *sums;
} Problem;

/* Samples of a block: where each is, and those that have not arrived. Short groups are filled up. */
typedef struct {
    int32_t at[MOST_ROWS];
    int32_t rows[MOST_ROWS + SAMPLES_AT_ONCE];
    int n_rows;
} Block;

/* Take all samples that have not arrived some steps down. A step has no branch. */
static inline void go_down(const Problem *problem, const float *responses, Block *block, int n_steps)
{
    const Place *places = problem->places;
    const int n_rows = block->n_rows;
    int n_left = 0;
    for (int k = 0; k < SAMPLES_AT_ONCE; k++)
        block->rows[n_rows + k] = block->rows[n_rows - 1];
    for (int first = 0; first < n_rows; first += SAMPLES_AT_ONCE) {
        const int n = n_rows - first < SAMPLES_AT_ONCE ? n_rows - first : SAMPLES_AT_ONCE;
        const int32_t *rows = block->rows + first;
        const float *own[SAMPLES_AT_ONCE];
        int32_t at[SAMPLES_AT_ONCE];
        for (int k = 0; k < SAMPLES_AT_ONCE; k++) {
            at[k] = block->at[rows[k]];
            own[k] = responses + rows[k] * problem->n_axes;
        }
        for (int step = 0; step < n_steps; step++)
            for (int k = 0; k < SAMPLES_AT_ONCE; k++) {
                const Place *place = places + at[k];
                at[k] = place->next + (own[k][place->axis] > place->threshold);
            }
        for (int k = 0; k < n; k++) {
            const int32_t row = rows[k];
            block->at[row] = at[k];
            block->rows[n_left] = row;
            n_left += places[at[k]].next != at[k];
        }
    }
    block->n_rows = n_left;
}

/* Take n_rows samples from a row on, at most MOST_ROWS, down a tree. */
static void descend(const Problem *problem, Py_ssize_t tree, Py_ssize_t start, int n_rows)
{
    const float *responses = problem->responses + start * problem->n_axes;
    Block block;
    block.n_rows = n_rows;
    for (int row = 0; row < n_rows; row++) {
        block.at[row] = (int32_t)tree;
        block.rows[row] = row;
    }
    int n_steps = MORE_STEPS;
    for (int32_t n_nodes = problem->n_nodes[tree]; n_nodes > 0; n_nodes /= 2)
        n_steps++;
    go_down(problem, responses, &block, n_steps);
    while (block.n_rows > 0)
        go_down(problem, responses, &block, MORE_STEPS);
    for (int row = 0; row < n_rows; row++) {
        const Py_ssize_t region = problem->places[block.at[row]].region;
        if (problem->found != NULL) {
            problem->found[(start + row) * problem->n_trees + tree] = (int32_t)region;
            continue;
        }
        const double *restrict values = problem->values + region * problem->n_classes;
        double *restrict sums = problem->sums + (start + row) * problem->n_classes;
        for (Py_ssize_t c = 0; c < problem->n_classes; c++)
            sums[c] += values[c];
    }
}

static void descend_all(const Problem *problem)
{
    const Py_ssize_t fitting = RESPONSES_AT_ONCE / (problem->n_axes + 1);
    const Py_ssize_t step = fitting < FEWEST_ROWS ? FEWEST_ROWS : fitting < MOST_ROWS ? fitting : MOST_ROWS;
    for (Py_ssize_t start = 0; start < problem->n_rows; start += step) {
        const Py_ssize_t left = problem->n_rows - start;
        for (Py_ssize_t tree = 0; tree < problem->n_trees; tree++)
            descend(problem, tree, start, (int)(left < step ? left : step));
    }
}

/* Get the arguments: responses (n, F), places (M + R, 4), numbers of nodes (T,), then values (R, C) and sums (n, C), or found
   (n, T). The last one is written. */
static PyObject *compute(PyObject *arguments, const char *types, int n_tables)
{
    PyObject *objects[5] = {NULL};
    Py_buffer tables[5], *last = &tables[n_tables - 1];
    if (!PyArg_UnpackTuple(arguments, "compute", n_tables, n_tables, &objects[0], &objects[1], &objects[2],
                           &objects[3], &objects[4]) ||
        get_tables(objects, tables, types, (const int[]){2, 2, 1, 2, 2}, n_tables, n_tables - 1) < 0)
        return NULL;
    PyObject *answer = NULL;
    Problem problem = {.responses = tables[0].buf, .n_rows = tables[0].shape[0], .n_axes = tables[0].shape[1],
                       .places = tables[1].buf, .n_nodes = tables[2].buf, .n_trees = tables[2].shape[0]};
    if (n_tables == 4)
        problem.found = last->buf;
    else {
        problem.values = tables[3].buf;
        problem.n_classes = tables[3].shape[1];
        problem.sums = last->buf;
    }
    const Py_ssize_t n_columns = n_tables == 4 ? problem.n_trees : problem.n_classes;
    if (tables[1].shape[1] != 4 || last->shape[0] != problem.n_rows || last->shape[1] != n_columns)
        PyErr_SetString(PyExc_ValueError, "places must have 4 columns, and the result must fit the other arrays.");
    else {
        Py_BEGIN_ALLOW_THREADS
        descend_all(&problem);
        Py_END_ALLOW_THREADS
        answer = Py_NewRef(Py_None);
    }
    release(tables, n_tables);
    return answer;
}

static PyObject *regions(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    return compute(arguments, "fiii", 4);
}

static PyObject *add_values(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    return compute(arguments, "fiidd", 5);
}

static PyMethodDef methods[] = {
    {"regions", regions, METH_VARARGS,
     "regions(responses, places, n_nodes, found)\n--\n\n"
     "Write the region of each sample in each tree to found."},
    {"add_values", add_values, METH_VARARGS,
     "add_values(responses, places, n_nodes, values, sums)\n--\n\n"
     "Add the values of each sample's regions to sums, tree by tree."},
    {NULL, NULL, 0, NULL},
};

DEFINE_MODULE(_region_trees, "Regions of many samples in trees of half-spaces.")
