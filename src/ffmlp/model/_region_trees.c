/* The region of each sample in each tree, and the sum of the values of these regions.

   Several samples go down a tree at the same time, because each step waits for memory. The tables must
   be those of a checked RegionTrees: indices within range, and children after their parents. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdint.h>

#include "../_module.h"
#include "../_tables.h"

#define SAMPLES_AT_ONCE 16
/* The responses of a block of rows stay in the cache (160 kB) while each tree is read once. */
#define RESPONSES_AT_ONCE 40960

typedef struct {
    int32_t axis;
    float threshold;
    int32_t children[2];
} Node;

/* Results go to found (n, T) if it is not NULL, and are added to sums (n, C) otherwise. */
typedef struct {
    const float *responses;
    Py_ssize_t n_rows, n_axes;
    const Node *nodes;
    const int32_t *roots;
    Py_ssize_t n_trees;
    int32_t *found;
    const double *values;
    Py_ssize_t n_classes;
    double *sums;
} Problem;

/* Take n samples from a row on, at most SAMPLES_AT_ONCE, down a tree. A step has no branch; a sample that has
   arrived waits for the others. */
static inline void descend(const Problem *problem, Py_ssize_t tree, Py_ssize_t row, int n)
{
    const Node *nodes = problem->nodes;
    const Py_ssize_t n_axes = problem->n_axes, n_classes = problem->n_classes;
    const float *responses = problem->responses + row * n_axes;
    int32_t at[SAMPLES_AT_ONCE], all;
    for (int k = 0; k < n; k++)
        at[k] = problem->roots[tree];
    do {
        all = -1;
        for (int k = 0; k < n; k++) {
            const Node *node = nodes + (at[k] < 0 ? 0 : at[k]);
            const int32_t child = node->children[responses[k * n_axes + node->axis] > node->threshold];
            at[k] = at[k] < 0 ? at[k] : child;
            all &= at[k];
        }
    } while (all >= 0);
    for (int k = 0; k < n; k++) {
        const Py_ssize_t region = -1 - at[k];
        if (problem->found != NULL) {
            problem->found[(row + k) * problem->n_trees + tree] = (int32_t)region;
            continue;
        }
        const double *restrict values = problem->values + region * n_classes;
        double *restrict sums = problem->sums + (row + k) * n_classes;
        for (Py_ssize_t c = 0; c < n_classes; c++)
            sums[c] += values[c];
    }
}

static void descend_all(const Problem *problem)
{
    const Py_ssize_t fitting = RESPONSES_AT_ONCE / (problem->n_axes + 1);
    const Py_ssize_t step = fitting < SAMPLES_AT_ONCE ? SAMPLES_AT_ONCE : fitting;
    for (Py_ssize_t first = 0; first < problem->n_rows; first += step) {
        const Py_ssize_t left = problem->n_rows - first, end = first + (left < step ? left : step);
        for (Py_ssize_t tree = 0; tree < problem->n_trees; tree++) {
            Py_ssize_t row = first;
            for (; row + SAMPLES_AT_ONCE <= end; row += SAMPLES_AT_ONCE)
                descend(problem, tree, row, SAMPLES_AT_ONCE);
            for (; row < end; row++)
                descend(problem, tree, row, 1);
        }
    }
}

/* Get the arguments: responses (n, F), nodes (M, 4), roots (T,), then values (R, C) and sums (n, C), or found
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
                       .nodes = tables[1].buf, .roots = tables[2].buf, .n_trees = tables[2].shape[0]};
    if (n_tables == 4)
        problem.found = last->buf;
    else {
        problem.values = tables[3].buf;
        problem.n_classes = tables[3].shape[1];
        problem.sums = last->buf;
    }
    const Py_ssize_t n_columns = n_tables == 4 ? problem.n_trees : problem.n_classes;
    if (tables[1].shape[1] != 4 || last->shape[0] != problem.n_rows || last->shape[1] != n_columns)
        PyErr_SetString(PyExc_ValueError, "nodes must have 4 columns, and the result must fit the other arrays.");
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
     "regions(responses, nodes, roots, found)\n--\n\n"
     "Write the region of each sample in each tree to found."},
    {"add_values", add_values, METH_VARARGS,
     "add_values(responses, nodes, roots, values, sums)\n--\n\n"
     "Add the values of each sample's regions to sums, tree by tree."},
    {NULL, NULL, 0, NULL},
};

DEFINE_MODULE(_region_trees, "Regions of many samples in trees of half-spaces.")
