/* The region of each sample in each tree, the sum of the values of these regions, and what each axis adds to it.

   Several samples go down a tree at the same time, because each step waits for memory. After some steps, those
   that have arrived are left out. The table must be that of a checked RegionTrees: indices within range, and
   every way ends in a region. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdint.h>
#include <stdlib.h>

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

/* What a coalition of axes of a sample, the others being those of its reference, does in a tree. */
typedef struct {
    const Place *places;
    const float *own, *other;
    const double *values;
    Py_ssize_t n_classes, winner, rival;
    /* The side that each axis has taken: 0 for none so far, 1 for the sample's, 2 for the reference's. */
    uint8_t *sides;
    double *shapley;
} Comparison;

/* Add the Shapley values of the regions below a place. Both sides are followed where sample and reference part.

   n_own and n_other axes have been decided for the sample and the reference, with weight n_own! n_other! / n!,
   where n is their sum. Every axis decided for the sample has the same share of a region, the sum of which is
   *gained; *lost is that of the axes decided for the reference. */
static void share(const Comparison *task, int32_t at, int n_own, int n_other, double weight, double *gained,
                  double *lost)
{
    for (;;) {
        const Place *place = task->places + at;
        if (place->next == at) {
            const double *values = task->values + place->region * task->n_classes;
            const double lead = weight * (values[task->winner] - values[task->rival]);
            *gained = n_own > 0 ? lead / n_own : 0.0;
            *lost = n_other > 0 ? lead / n_other : 0.0;
            return;
        }
        const int own = task->own[place->axis] > place->threshold;
        const int other = task->other[place->axis] > place->threshold;
        uint8_t *side = task->sides + place->axis;
        if (own != other && *side == 0) {
            const double n = n_own + n_other + 1;
            double gains[2], losses[2];
            *side = 1;
            share(task, place->next + own, n_own + 1, n_other, weight * (n_own + 1) / n, &gains[0], &losses[0]);
            *side = 2;
            share(task, place->next + other, n_own, n_other + 1, weight * (n_other + 1) / n, &gains[1], &losses[1]);
            *side = 0;
            task->shapley[place->axis] += gains[0] - losses[1];
            *gained = gains[0] + gains[1];
            *lost = losses[0] + losses[1];
            return;
        }
        at = place->next + (*side == 2 ? other : own);
    }
}

static PyObject *shapley_values(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *objects[7] = {NULL};
    Py_buffer tables[7];
    Py_ssize_t n_trees;
    if (!PyArg_ParseTuple(arguments, "OOOnOOOO", &objects[0], &objects[1], &objects[2], &n_trees, &objects[3],
                          &objects[4], &objects[5], &objects[6]) ||
        get_tables(objects, tables, "ffidiid", (const int[]){2, 2, 2, 2, 1, 1, 2}, 7, 6) < 0)
        return NULL;
    const Py_ssize_t n_rows = tables[0].shape[0], n_axes = tables[0].shape[1];
    const int32_t *winner = tables[4].buf, *rival = tables[5].buf;
    PyObject *answer = NULL;
    uint8_t *sides = calloc(n_axes + 1, 1);
    if (sides == NULL)
        PyErr_NoMemory();
    else if (tables[1].shape[0] != n_rows || tables[1].shape[1] != n_axes || tables[2].shape[1] != 4 ||
             tables[4].shape[0] != n_rows || tables[5].shape[0] != n_rows || tables[6].shape[0] != n_rows ||
             tables[6].shape[1] != n_axes || n_trees > tables[2].shape[0])
        PyErr_SetString(PyExc_ValueError, "places must have 4 columns, and the other arrays must fit each other.");
    else {
        Py_BEGIN_ALLOW_THREADS
        for (Py_ssize_t row = 0; row < n_rows; row++) {
            const Comparison task = {
                .places = tables[2].buf, .own = (const float *)tables[0].buf + row * n_axes,
                .other = (const float *)tables[1].buf + row * n_axes, .values = tables[3].buf,
                .n_classes = tables[3].shape[1], .winner = winner[row], .rival = rival[row], .sides = sides,
                .shapley = (double *)tables[6].buf + row * n_axes};
            double gained, lost;
            for (int32_t tree = 0; tree < n_trees; tree++)
                share(&task, tree, 0, 0, 1.0, &gained, &lost);
        }
        Py_END_ALLOW_THREADS
        answer = Py_NewRef(Py_None);
    }
    free(sides);
    release(tables, 7);
    return answer;
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
    {"shapley_values", shapley_values, METH_VARARGS,
     "shapley_values(own, other, places, n_trees, values, winner, rival, shapley)\n--\n\n"
     "Add what each axis adds to the lead of the winner over the rival to shapley."},
    {NULL, NULL, 0, NULL},
};

DEFINE_MODULE(_region_trees, "Regions of many samples in trees of half-spaces.")
