/* The leaf of each sample in each tree, the sum of the values of these leaves, the class that they decide, and what
   each axis adds to a lead.

   Several samples go down a tree at the same time, because each step waits for memory. After some steps, those
   that have arrived are left out. The tables must be those of a checked Trees: indices within range, and
   every way ends in a leaf. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../_module.h"
#include "../_tables.h"

/* As many as registers hold. */
#define SAMPLES_AT_ONCE 12
/* Steps until those that have arrived are left out: one more than a tree of equal ways has, then few. */
#define MORE_STEPS 3
/* The responses of a block of rows stay in the second cache (256 kB), and each tree in the first one. */
#define RESPONSES_AT_ONCE 65536
#define FEWEST_ROWS 64
#define MOST_ROWS 2048
/* Trees until decided samples are left out. */
#define TREES_AT_ONCE 8

/* A node or a leaf. The places of a tree are pairs; the first one is the root and nothing. A sample goes on to the
   next pair, to its second place if the key of the axis exceeds the threshold. A leaf leads to itself: the key of no
   sample exceeds its threshold, or that of every sample if it is a second place. */
typedef struct {
    int32_t threshold;
    uint16_t axis, next;
} Place;

/* T trees: tree t has the places from starts[t] up to starts[t + 1]. The leaf of a node is negative. */
typedef struct {
    const Place *places;
    const int32_t *leaves, *starts;
    Py_ssize_t n_trees;
} Forest;

/* Some samples: their keys (n, F), rows, places in the present tree, and those that are still on their way down there.
   A short group of the latter is filled up. */
typedef struct {
    int32_t *keys;
    Py_ssize_t n_axes;
    int n;
    Py_ssize_t row[MOST_ROWS];
    uint32_t at[MOST_ROWS];
    int32_t way_down[MOST_ROWS + SAMPLES_AT_ONCE];
} Block;

/* Integers in the order of the numbers, which are faster to compare. NaN is below all: it exceeds no threshold. */
static inline int32_t key_of(float number)
{
    int32_t bits;
    memcpy(&bits, &number, sizeof bits);
    return number != number ? -INT32_MAX : bits < 0 ? -(bits & INT32_MAX) : bits;
}

/* Take the first n_left samples of way_down some steps down, without branches. Returns how many have not arrived. */
static inline int go_down(const Place *places, Block *block, int n_left, int n_steps)
{
    int n_still = 0;
    for (int k = 0; k < SAMPLES_AT_ONCE; k++)
        block->way_down[n_left + k] = block->way_down[n_left - 1];
    for (int first = 0; first < n_left; first += SAMPLES_AT_ONCE) {
        const int n = n_left - first < SAMPLES_AT_ONCE ? n_left - first : SAMPLES_AT_ONCE;
        const int32_t *samples = block->way_down + first;
        const int32_t *keys[SAMPLES_AT_ONCE];
        uint32_t at[SAMPLES_AT_ONCE];
        for (int k = 0; k < SAMPLES_AT_ONCE; k++) {
            at[k] = block->at[samples[k]];
            keys[k] = block->keys + samples[k] * block->n_axes;
        }
        for (int step = 0; step < n_steps; step++)
            for (int k = 0; k < SAMPLES_AT_ONCE; k++) {
                const Place place = places[at[k]];
                at[k] = 2 * place.next + (keys[k][place.axis] > place.threshold);
            }
        for (int k = 0; k < n; k++) {
            const int32_t sample = samples[k];
            block->at[sample] = at[k];
            block->way_down[n_still] = sample;
            n_still += places[at[k]].next != at[k] / 2;
        }
    }
    return n_still;
}

/* Take all samples of a block down a tree. */
static void descend(const Forest *forest, Py_ssize_t tree, Block *block)
{
    const Place *places = forest->places + forest->starts[tree];
    int n_left = block->n, n_steps = 1;
    for (int32_t n_pairs = (forest->starts[tree + 1] - forest->starts[tree]) / 2; n_pairs > 1; n_pairs /= 2)
        n_steps++;
    for (int sample = 0; sample < block->n; sample++) {
        block->at[sample] = 0;
        block->way_down[sample] = sample;
    }
    for (; n_left > 0; n_steps = MORE_STEPS)
        n_left = go_down(places, block, n_left, n_steps);
}

/* What becomes of the leaves of samples: they are written to found (n, T); or the values of leaves are added to
   sums (n, C), in double or in single precision. In single precision, a class is decided if it leads by more than the
   margin, whatever the trees after the first k of the order add to class c: from least[k, c] to most[k, c]. */
typedef struct {
    int32_t *found;
    const double *values;
    double *sums;
    const float *single_values;
    float *single_sums;
    Py_ssize_t n_classes;
    const int32_t *order;
    const float *least, *most;
    float margin;
    int32_t *classes;
} Task;

static inline void add(const float *restrict values, float *restrict sums, Py_ssize_t n_classes)
{
    for (Py_ssize_t c = 0; c < n_classes; c++)
        sums[c] += values[c];
}

static void record(const Task *task, const Forest *forest, Py_ssize_t tree, const Block *block)
{
    const int32_t *leaves = forest->leaves + forest->starts[tree];
    const Py_ssize_t n_classes = task->n_classes;
    for (int sample = 0; sample < block->n; sample++) {
        const Py_ssize_t row = block->row[sample], leaf = leaves[block->at[sample]];
        if (task->found != NULL)
            task->found[row * forest->n_trees + tree] = (int32_t)leaf;
        else if (task->sums != NULL) {
            const double *restrict values = task->values + leaf * n_classes;
            double *restrict sums = task->sums + row * n_classes;
            for (Py_ssize_t c = 0; c < n_classes; c++)
                sums[c] += values[c];
        } else {
            const float *restrict values = task->single_values + leaf * n_classes;
            float *restrict sums = task->single_sums + row * n_classes;
            /* Loops of a known length take less time. */
            n_classes == 2 ? add(values, sums, 2) : n_classes == 3 ? add(values, sums, 3) : add(values, sums, n_classes);
        }
    }
}

/* The class that leads, if the trees from `next` on cannot change that; -1 otherwise. Loops have no branches. */
static int32_t decided(const Task *task, Py_ssize_t next, const float *sums)
{
    const float *least = task->least + next * task->n_classes, *most = task->most + next * task->n_classes;
    float surest = -INFINITY;
    for (Py_ssize_t c = 0; c < task->n_classes; c++)
        surest = sums[c] + least[c] > surest ? sums[c] + least[c] : surest;
    Py_ssize_t n_possible = 0, possible = 0;
    for (Py_ssize_t c = 0; c < task->n_classes; c++) {
        const int is_possible = sums[c] + most[c] >= surest - task->margin;
        n_possible += is_possible;
        possible += is_possible * c;
    }
    return n_possible == 1 ? (int32_t)possible : -1;
}

/* Write the classes of samples, and keep those that are not decided. */
static void leave_decided(const Task *task, Py_ssize_t next, Block *block)
{
    int n_kept = 0;
    for (int sample = 0; sample < block->n; sample++) {
        const Py_ssize_t row = block->row[sample];
        task->classes[row] = decided(task, next, task->single_sums + row * task->n_classes);
        if (task->classes[row] >= 0)
            continue;
        if (n_kept < sample) {
            const size_t n_bytes = block->n_axes * sizeof(int32_t);
            memcpy(block->keys + n_kept * block->n_axes, block->keys + sample * block->n_axes, n_bytes);
            block->row[n_kept] = row;
        }
        n_kept++;
    }
    block->n = n_kept;
}

static void descend_all(const Task *task, const Forest *forest, const float *responses, Py_ssize_t n_rows, Block *block)
{
    const Py_ssize_t fitting = RESPONSES_AT_ONCE / (block->n_axes + 1);
    const Py_ssize_t most = fitting < FEWEST_ROWS ? FEWEST_ROWS : fitting < MOST_ROWS ? fitting : MOST_ROWS;
    for (Py_ssize_t start = 0; start < n_rows; start += most) {
        block->n = (int)(n_rows - start < most ? n_rows - start : most);
        for (int sample = 0; sample < block->n; sample++)
            block->row[sample] = start + sample;
        for (Py_ssize_t i = 0; i < block->n * block->n_axes; i++)
            block->keys[i] = key_of(responses[start * block->n_axes + i]);
        for (Py_ssize_t k = 0; k < forest->n_trees && block->n > 0; k++) {
            const Py_ssize_t tree = task->order == NULL ? k : task->order[k];
            descend(forest, tree, block);
            record(task, forest, tree, block);
            if (task->classes != NULL && ((k + 1) % TREES_AT_ONCE == 0 || k + 1 == forest->n_trees))
                leave_decided(task, k + 1, block);
        }
    }
}

/* What a coalition of axes of a sample, the others being those of its reference, does in a tree. */
typedef struct {
    const Place *places;
    const int32_t *leaves;
    const float *own, *other;
    const double *values;
    Py_ssize_t n_classes, winner, rival;
    /* The side that each axis has taken: 0 for none so far, 1 for the sample's, 2 for the reference's. */
    uint8_t *sides;
    double *shapley;
} Comparison;

/* Add the Shapley values of the leaves below a place. Both sides are followed where sample and reference part.

   n_own and n_other axes have been decided for the sample and the reference, with weight n_own! n_other! / n!,
   where n is their sum. Every axis decided for the sample has the same share of a leaf, the sum of which is
   *gained; *lost is that of the axes decided for the reference. */
static void share(const Comparison *task, int32_t at, int n_own, int n_other, double weight, double *gained,
                  double *lost)
{
    for (;;) {
        const int32_t leaf = task->leaves[at];
        if (leaf >= 0) {
            const double *values = task->values + leaf * task->n_classes;
            const double lead = weight * (values[task->winner] - values[task->rival]);
            *gained = n_own > 0 ? lead / n_own : 0.0;
            *lost = n_other > 0 ? lead / n_other : 0.0;
            return;
        }
        const Place *place = task->places + at;
        const int own = key_of(task->own[place->axis]) > place->threshold;
        const int other = key_of(task->other[place->axis]) > place->threshold;
        const int32_t next = 2 * place->next;
        uint8_t *side = task->sides + place->axis;
        if (own != other && *side == 0) {
            const double n = n_own + n_other + 1;
            double gains[2], losses[2];
            *side = 1;
            share(task, next + own, n_own + 1, n_other, weight * (n_own + 1) / n, &gains[0], &losses[0]);
            *side = 2;
            share(task, next + other, n_own, n_other + 1, weight * (n_other + 1) / n, &gains[1], &losses[1]);
            *side = 0;
            task->shapley[place->axis] += gains[0] - losses[1];
            *gained = gains[0] + gains[1];
            *lost = losses[0] + losses[1];
            return;
        }
        at = next + (*side == 2 ? other : own);
    }
}

/* The trees from places (P, 2), leaves (P,) and starts (T + 1,). Returns -1 if they do not fit each other. */
static int get_forest(const Py_buffer *tables, Forest *forest)
{
    const Py_ssize_t n_places = tables[0].shape[0], n_trees = tables[2].shape[0] - 1;
    *forest = (Forest){tables[0].buf, tables[1].buf, tables[2].buf, n_trees};
    int fit = tables[0].shape[1] == 2 && tables[1].shape[0] == n_places && n_trees >= 0 && forest->starts[0] == 0;
    for (Py_ssize_t tree = 0; fit && tree < n_trees; tree++) /* each has two places at least */
        fit = forest->starts[tree + 1] - (int64_t)forest->starts[tree] >= 2;
    if (fit && forest->starts[n_trees] == n_places)
        return 0;
    PyErr_SetString(PyExc_ValueError, "places must have 2 columns, and leaves and starts must fit them.");
    return -1;
}

static PyObject *shapley_values(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *objects[9] = {NULL};
    Py_buffer tables[9];
    if (!PyArg_UnpackTuple(arguments, "shapley_values", 9, 9, &objects[0], &objects[1], &objects[2], &objects[3],
                           &objects[4], &objects[5], &objects[6], &objects[7], &objects[8]) ||
        get_tables(objects, tables, "iiiffdiid", (const int[]){2, 1, 1, 2, 2, 2, 1, 1, 2}, 9, 8) < 0)
        return NULL;
    const Py_ssize_t n_rows = tables[3].shape[0], n_axes = tables[3].shape[1];
    const int32_t *winner = tables[6].buf, *rival = tables[7].buf;
    Forest forest;
    PyObject *answer = NULL;
    uint8_t *sides = calloc(n_axes + 1, 1);
    if (sides == NULL)
        PyErr_NoMemory();
    else if (get_forest(tables, &forest) == 0 && has_shape(&tables[4], n_rows, n_axes) &&
             are_indices(&tables[6], n_rows, tables[5].shape[1]) &&
             are_indices(&tables[7], n_rows, tables[5].shape[1]) && has_shape(&tables[8], n_rows, n_axes)) {
        Py_BEGIN_ALLOW_THREADS
        for (Py_ssize_t row = 0; row < n_rows; row++)
            for (Py_ssize_t tree = 0; tree < forest.n_trees; tree++) {
                const Comparison task = {
                    .places = forest.places + forest.starts[tree], .leaves = forest.leaves + forest.starts[tree],
                    .own = (const float *)tables[3].buf + row * n_axes,
                    .other = (const float *)tables[4].buf + row * n_axes, .values = tables[5].buf,
                    .n_classes = tables[5].shape[1], .winner = winner[row], .rival = rival[row], .sides = sides,
                    .shapley = (double *)tables[8].buf + row * n_axes};
                double gained, lost;
                share(&task, 0, 0, 0, 1.0, &gained, &lost);
            }
        Py_END_ALLOW_THREADS
        answer = Py_NewRef(Py_None);
    }
    free(sides);
    release(tables, 9);
    return answer;
}

/* Carry out a task for responses (n, F), without the lock. Returns None, or NULL without memory. */
static PyObject *carried_out(const Task *task, const Forest *forest, const Py_buffer *responses)
{
    const size_t n_axes = responses->shape[1];
    /* After the block, the keys of as many rows as it can have: see descend_all. */
    Block *block = malloc(sizeof(Block) + (n_axes * FEWEST_ROWS + RESPONSES_AT_ONCE) * sizeof(int32_t));
    if (block == NULL)
        return PyErr_NoMemory();
    Py_BEGIN_ALLOW_THREADS
    block->keys = (int32_t *)(block + 1);
    block->n_axes = n_axes;
    descend_all(task, forest, responses->buf, responses->shape[0], block);
    Py_END_ALLOW_THREADS
    free(block);
    return Py_NewRef(Py_None);
}

static PyObject *leaves(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *objects[5] = {NULL}, *answer = NULL;
    Py_buffer tables[5];
    if (!PyArg_UnpackTuple(arguments, "leaves", 5, 5, &objects[0], &objects[1], &objects[2], &objects[3],
                           &objects[4]) ||
        get_tables(objects, tables, "iiifi", (const int[]){2, 1, 1, 2, 2}, 5, 4) < 0)
        return NULL;
    Forest forest;
    const Task task = {.found = tables[4].buf};
    if (get_forest(tables, &forest) == 0 && has_shape(&tables[4], tables[3].shape[0], forest.n_trees))
        answer = carried_out(&task, &forest, &tables[3]);
    release(tables, 5);
    return answer;
}

static PyObject *add_values(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *objects[6] = {NULL}, *answer = NULL;
    Py_buffer tables[6];
    if (!PyArg_UnpackTuple(arguments, "add_values", 6, 6, &objects[0], &objects[1], &objects[2], &objects[3],
                           &objects[4], &objects[5]) ||
        get_tables(objects, tables, "iiifdd", (const int[]){2, 1, 1, 2, 2, 2}, 6, 5) < 0)
        return NULL;
    Forest forest;
    const Task task = {.values = tables[4].buf, .n_classes = tables[4].shape[1], .sums = tables[5].buf};
    if (get_forest(tables, &forest) == 0 && has_shape(&tables[5], tables[3].shape[0], task.n_classes))
        answer = carried_out(&task, &forest, &tables[3]);
    release(tables, 6);
    return answer;
}

static PyObject *decide(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *objects[10] = {NULL}, *answer = NULL;
    Py_buffer tables[10];
    float margin;
    if (!PyArg_ParseTuple(arguments, "OOOOOOOOfOO", &objects[0], &objects[1], &objects[2], &objects[3], &objects[4],
                          &objects[5], &objects[6], &objects[7], &margin, &objects[8], &objects[9]) ||
        get_tables(objects, tables, "iiififfffi", (const int[]){2, 1, 1, 2, 1, 2, 2, 2, 2, 1}, 10, 8) < 0)
        return NULL;
    Forest forest;
    const Py_ssize_t n_rows = tables[3].shape[0], n_classes = tables[5].shape[1];
    const Task task = {.order = tables[4].buf, .single_values = tables[5].buf, .n_classes = n_classes,
                       .least = tables[6].buf, .most = tables[7].buf, .margin = margin,
                       .single_sums = tables[8].buf, .classes = tables[9].buf};
    if (get_forest(tables, &forest) == 0 && are_indices(&tables[4], forest.n_trees, forest.n_trees) &&
        has_shape(&tables[6], forest.n_trees + 1, n_classes) && has_shape(&tables[7], forest.n_trees + 1, n_classes) &&
        has_shape(&tables[8], n_rows, n_classes) && has_shape(&tables[9], n_rows, 0))
        answer = carried_out(&task, &forest, &tables[3]);
    release(tables, 10);
    return answer;
}

static PyMethodDef methods[] = {
    {"leaves", leaves, METH_VARARGS,
     "leaves(places, leaves, starts, responses, found)\n--\n\n"
     "Write the leaf of each sample in each tree to found."},
    {"add_values", add_values, METH_VARARGS,
     "add_values(places, leaves, starts, responses, values, sums)\n--\n\n"
     "Add the values of each sample's leaves to sums, tree by tree."},
    {"decide", decide, METH_VARARGS,
     "decide(places, leaves, starts, responses, order, values, least, most, margin, sums, classes)\n--\n\n"
     "Write the class of the largest sum to classes, -1 where it leads by no more than the margin.\n\n"
     "Sums are those at the beginning, and afterwards include the trees that were needed."},
    {"shapley_values", shapley_values, METH_VARARGS,
     "shapley_values(places, leaves, starts, own, other, values, winner, rival, shapley)\n--\n\n"
     "Add what each axis adds to the lead of the winner over the rival to shapley."},
    {NULL, NULL, 0, NULL},
};

DEFINE_MODULE(_trees, "Leaves of many samples in trees of half-spaces.")
