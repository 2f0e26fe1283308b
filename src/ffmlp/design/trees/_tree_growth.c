/* Trees grown best-first on integer targets: the split of largest gain comes first.

   Targets are integers whose absolute values add up to less than 2^31, so that all sums are exact: they depend
   neither on the order of the samples nor on how a loop is compiled. Channel 0 of the targets is the weight. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../_module.h"
#include "../../_tables.h"
#include "_open_nodes.h"
#include "_tree_tables.h"

/* Ranks are 15 bits long. Best splits are sought between groups of 128 ranks. */
#define N_BINS 256
#define BIN_SHIFT 7
/* A gain below this share of what it is a difference of may be rounding error. */
#define LEAST_GAIN 1e-9

typedef int16_t Ranks __attribute__((vector_size(2 * WIDTH), aligned(2)));
typedef int32_t Sums __attribute__((vector_size(4 * WIDTH), aligned(4)));

typedef struct {
    const int16_t *ranks; /* (n, stride) */
    const int32_t *targets; /* (n, K) */
    Py_ssize_t n_features, stride, n_channels; /* a row of ranks is longer than the features: see WIDTH */
    int32_t *rows; /* those that the tree sees; those of a node are neighbours */
    Node *nodes; /* 2·leaves - 1 */
    Py_ssize_t n_leaves, fewest;
    uint64_t seed;
    double prior; /* added to the weight of each side */
    int is_random;
    int32_t *totals; /* (2·leaves - 1, K) sums of the targets in each node */
    int32_t *right; /* room for the rows of one side, and one more */
    Heap open;
} Growth;

static uint64_t mixed(uint64_t x)
{
    x += 0x9E3779B97F4A7C15u;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

/* Consider a split with these sums on its left; they are `step` apart. */
static inline void consider(const Growth *g, Open *best, const int32_t *left, const int step, const int32_t *total,
                            int32_t feature, int32_t threshold, const int n_channels)
{
    const double left_weight = left[0], right_weight = (double)total[0] - left[0];
    if (left_weight <= 0.0 || right_weight <= 0.0)
        return;
    double left_squares = 0.0, right_squares = 0.0;
    for (int k = 1; k < n_channels; k++) {
        const double l = left[k * step], r = (double)total[k] - l;
        left_squares += l * l;
        right_squares += r * r;
    }
    const double gain = left_squares / (left_weight + g->prior) + right_squares / (right_weight + g->prior);
    if (gain > best->gain) {
        best->gain = gain;
        best->feature = feature;
        best->threshold = threshold;
    }
}

/* Add up the targets of some rows, or, sooner, the bins of one feature. */
static void add_up(const Growth *g, const int32_t *rows, Py_ssize_t n, const int32_t *counts, int32_t *total)
{
    const Py_ssize_t n_channels = g->n_channels;
    memset(total, 0, n_channels * sizeof *total);
    for (Py_ssize_t i = 0; i < (counts == NULL ? n : N_BINS); i++) {
        const int32_t *part = counts == NULL ? g->targets + rows[i] * n_channels : counts + i * n_channels;
        for (Py_ssize_t k = 0; k < n_channels; k++)
            total[k] += part[k];
    }
}

/* Sums on the left of one random threshold for each of eight features. */
static inline void sum_left(const Growth *g, const int32_t *rows, Py_ssize_t n, Py_ssize_t feature, uint64_t own,
                            Ranks *thresholds, Sums *sums, const int n_channels)
{
    const int16_t *ranks = g->ranks + feature;
    Ranks low = *(const Ranks *)(ranks + rows[0] * g->stride), high = low;
    for (Py_ssize_t i = 1; i < n; i++) {
        const Ranks rank = *(const Ranks *)(ranks + rows[i] * g->stride);
        const Ranks less = rank < low, more = rank > high;
        low = (rank & less) | (low & ~less);
        high = (rank & more) | (high & ~more);
    }
    for (int j = 0; j < WIDTH; j++) {
        const uint64_t draw = mixed(own + (uint64_t)(feature + j)) >> 32;
        /* A constant feature has no samples on its right. */
        low[j] += (int16_t)((draw * (uint64_t)(high[j] - low[j])) >> 32);
    }
    for (int k = 0; k < n_channels; k++)
        sums[k] = (Sums){0};
    for (Py_ssize_t i = 0; i < n; i++) {
        const Ranks rank = *(const Ranks *)(ranks + rows[i] * g->stride);
        const Sums left = __builtin_convertvector(rank <= low, Sums);
        const int32_t *target = g->targets + rows[i] * n_channels;
        for (int k = 0; k < n_channels; k++)
            sums[k] += left & target[k];
    }
    *thresholds = low;
}

/* Add the targets of rows to the bins of their ranks. */
static inline void add_counts(const Growth *g, const int32_t *rows, Py_ssize_t n, int32_t *counts,
                              const int n_channels)
{
    for (Py_ssize_t i = 0; i < n; i++) {
        const int16_t *ranks = g->ranks + rows[i] * g->stride;
        const int32_t *restrict target = g->targets + rows[i] * n_channels;
        for (Py_ssize_t f = 0; f < g->n_features; f++) {
            /* A rank is not negative; one that is stays within its feature. */
            int32_t *restrict bin = counts + (f * N_BINS + (ranks[f] >> BIN_SHIFT & (N_BINS - 1))) * n_channels;
            for (int k = 0; k < n_channels; k++)
                bin[k] += target[k];
        }
    }
}

/* A loop over channels is fast if their number is known when it is compiled. */
#define FOR_CHANNELS(function, ...) \
    switch (g->n_channels) { \
    case 2: function(__VA_ARGS__, 2); break; \
    case 3: function(__VA_ARGS__, 3); break; \
    case 4: function(__VA_ARGS__, 4); break; \
    case 5: function(__VA_ARGS__, 5); break; \
    case 6: function(__VA_ARGS__, 6); break; \
    case 7: function(__VA_ARGS__, 7); break; \
    default: function(__VA_ARGS__, MOST_CHANNELS); \
    }

/* One random threshold for each feature. */
static inline void consider_random(const Growth *g, Open *best, const int32_t *rows, Py_ssize_t n,
                                   const int32_t *total, const int n_channels)
{
    const uint64_t own = mixed(g->seed + (uint64_t)best->number);
    for (Py_ssize_t f = 0; f < g->n_features; f += WIDTH) {
        Ranks thresholds;
        Sums sums[MOST_CHANNELS];
        sum_left(g, rows, n, f, own, &thresholds, sums, n_channels);
        for (int j = 0; j < WIDTH; j++)
            consider(g, best, (const int32_t *)sums + j, WIDTH, total, (int32_t)(f + j), thresholds[j], n_channels);
    }
}

/* Every threshold between two bins. */
static inline void consider_all(const Growth *g, Open *best, const int32_t *total, const int n_channels)
{
    for (Py_ssize_t f = 0; f < g->n_features; f++) {
        const int32_t *bin = best->counts + f * N_BINS * n_channels;
        int32_t left[MOST_CHANNELS] = {0};
        for (int32_t b = 1; b < N_BINS; b++, bin += n_channels) {
            if (bin[0] == 0)
                continue;
            for (int k = 0; k < n_channels; k++)
                left[k] += bin[k];
            consider(g, best, left, 1, total, (int32_t)f, (b << BIN_SHIFT) - 1, n_channels);
        }
    }
}

static void count(const Growth *g, const int32_t *rows, Py_ssize_t n, int32_t *counts)
{
    FOR_CHANNELS(add_counts, g, rows, n, counts)
}

/* Push a node if a split of it has a gain; it keeps the counts of its samples as long as it is open. */
static void open_node(Growth *g, int32_t number, int32_t *counts)
{
    const Node *node = g->nodes + number;
    const int32_t *rows = g->rows + node->first;
    const Py_ssize_t n = node->end - node->first;
    int32_t *total = g->totals + number * g->n_channels;
    Open best = {.number = number, .feature = -1, .counts = counts};
    add_up(g, rows, n, counts, total);
    if (n >= g->fewest) {
        double squares = 0.0;
        for (Py_ssize_t k = 1; k < g->n_channels; k++)
            squares += (double)total[k] * total[k];
        const double before = squares / (total[0] + g->prior);
        best.gain = before * (1.0 + LEAST_GAIN);
        if (g->is_random) {
            FOR_CHANNELS(consider_random, g, &best, rows, n, total)
        } else {
            FOR_CHANNELS(consider_all, g, &best, total)
        }
        best.gain -= before;
    }
    if (best.feature < 0)
        free(counts);
    else
        push(&g->open, best);
}

/* Move the rows of the left side to the front, both sides in their order; return the number on the left. */
static Py_ssize_t part(const Growth *g, int32_t *rows, Py_ssize_t n, const Open *split)
{
    const int16_t *ranks = g->ranks + split->feature;
    Py_ssize_t n_left = 0, n_right = 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        const int32_t row = rows[i];
        const int is_right = ranks[row * g->stride] > split->threshold;
        rows[n_left] = g->right[n_right] = row;
        n_right += is_right;
        n_left += 1 - is_right;
    }
    memcpy(rows + n_left, g->right, n_right * sizeof *rows);
    return n_left;
}

/* The counts of both sides of a split. Only the smaller side is counted: the other one is the difference. */
static int count_sides(const Growth *g, const Open *split, int32_t *rows, Py_ssize_t n_left, Py_ssize_t n_right,
                       int32_t *sides[2])
{
    const size_t n_counts = g->n_features * N_BINS * g->n_channels;
    const int smaller = n_left > n_right;
    int32_t *own = calloc(n_counts, sizeof *own), *other = split->counts;
    if (own == NULL) {
        free(other);
        return -1;
    }
    count(g, smaller ? rows + n_left : rows, smaller ? n_right : n_left, own);
    for (size_t i = 0; i < n_counts; i++)
        other[i] -= own[i];
    sides[smaller] = own;
    sides[1 - smaller] = other;
    return 0;
}

/* Grow the tree; return the number of nodes, or -1 without memory. */
static Py_ssize_t grow_tree(Growth *g, Py_ssize_t n_seen)
{
    int32_t *counts = NULL;
    if (!g->is_random) {
        counts = calloc(g->n_features * N_BINS * g->n_channels, sizeof *counts);
        if (counts == NULL)
            return -1;
        count(g, g->rows, n_seen, counts);
    }
    g->nodes[0] = (Node){-1, 0, -1, 0, (int32_t)n_seen};
    open_node(g, 0, counts);
    Py_ssize_t n_nodes = 1;
    while (g->open.n_nodes && n_nodes < 2 * g->n_leaves - 1) {
        const Open split = pop(&g->open);
        Node *node = g->nodes + split.number;
        int32_t *rows = g->rows + node->first, *sides[2] = {NULL, NULL};
        const Py_ssize_t n = node->end - node->first, n_left = part(g, rows, n, &split);
        if (!g->is_random && count_sides(g, &split, rows, n_left, n - n_left, sides) < 0)
            return -1;
        node->feature = split.feature;
        node->threshold = split.threshold;
        node->left = (int32_t)n_nodes;
        const int32_t middle = node->first + (int32_t)n_left;
        g->nodes[n_nodes] = (Node){-1, 0, -1, node->first, middle};
        g->nodes[n_nodes + 1] = (Node){-1, 0, -1, middle, node->end};
        open_node(g, (int32_t)n_nodes, sides[0]);
        open_node(g, (int32_t)n_nodes + 1, sides[1]);
        n_nodes += 2;
    }
    return n_nodes;
}

static PyObject *grow(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *objects[5];
    Py_buffer tables[5];
    unsigned long long seed;
    Growth g = {0};
    if (!PyArg_ParseTuple(arguments, "OOOOOnKndp", &objects[0], &objects[1], &objects[2], &objects[3], &objects[4],
                          &g.n_features, &seed, &g.fewest, &g.prior, &g.is_random) ||
        get_tables(objects, tables, "hiiii", (const int[]){2, 2, 1, 2, 2}, 5, 2) < 0)
        return NULL;
    if (!can_grow(tables, g.n_features) && refused(tables, 5) < 0)
        return NULL;
    g.ranks = tables[0].buf;
    g.stride = tables[0].shape[1];
    g.targets = tables[1].buf;
    g.n_channels = tables[1].shape[1];
    g.rows = tables[2].buf;
    g.nodes = tables[3].buf;
    g.n_leaves = (tables[3].shape[0] + 1) / 2;
    g.totals = tables[4].buf;
    g.seed = seed;
    g.open.nodes = malloc((g.n_leaves + 1) * sizeof *g.open.nodes);
    g.right = malloc((tables[2].shape[0] + 1) * sizeof *g.right);
    Py_ssize_t n_nodes = -1;
    if (g.open.nodes != NULL && g.right != NULL) {
        Py_BEGIN_ALLOW_THREADS
        n_nodes = grow_tree(&g, tables[2].shape[0]);
        while (g.open.n_nodes)
            free(g.open.nodes[--g.open.n_nodes].counts);
        Py_END_ALLOW_THREADS
    }
    free(g.open.nodes);
    free(g.right);
    release(tables, 5);
    return n_nodes < 0 ? PyErr_NoMemory() : PyLong_FromSsize_t(n_nodes);
}

/* The nearest integer, halves to even ones: sums with 1.5 · 2^52 are integers. The least one for others, as in NumPy. */
static int32_t rounded(double x)
{
    const double nearest = (x + 6755399441055744.0) - 6755399441055744.0;
    return nearest >= INT32_MIN && nearest <= INT32_MAX ? (int32_t)nearest : INT32_MIN;
}

static PyObject *subtract(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *objects[4];
    Py_buffer tables[4];
    if (!PyArg_UnpackTuple(arguments, "subtract", 4, 4, &objects[0], &objects[1], &objects[2], &objects[3]) ||
        get_tables(objects, tables, "iidi", (const int[]){1, 2, 2, 2}, 4, 3) < 0 ||
        (!can_subtract(tables) && refused(tables, 4) < 0))
        return NULL;
    const int32_t *rows = tables[0].buf;
    const Node *nodes = tables[1].buf;
    const double *values = tables[2].buf;
    int32_t *targets = tables[3].buf;
    const Py_ssize_t n_nodes = tables[1].shape[0], n_channels = tables[3].shape[1];
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t number = 0; number < n_nodes; number++, values += n_channels - 1) {
        if (nodes[number].left >= 0)
            continue;
        for (int32_t i = nodes[number].first; i < nodes[number].end; i++) {
            int32_t *target = targets + rows[i] * n_channels;
            const double weight = target[0];
            for (Py_ssize_t k = 1; k < n_channels; k++)
                target[k] = (int32_t)((uint32_t)target[k] - (uint32_t)rounded(weight * values[k - 1]));
        }
    }
    Py_END_ALLOW_THREADS
    release(tables, 4);
    Py_RETURN_NONE;
}

static PyObject *descend(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *objects[4];
    Py_buffer tables[4];
    if (!PyArg_UnpackTuple(arguments, "descend", 4, 4, &objects[0], &objects[1], &objects[2], &objects[3]) ||
        get_tables(objects, tables, "hiii", (const int[]){2, 1, 2, 1}, 4, 3) < 0 ||
        (!can_descend(tables) && refused(tables, 4) < 0))
        return NULL;
    const int16_t *ranks = tables[0].buf;
    const int32_t *rows = tables[1].buf;
    const Node *nodes = tables[2].buf;
    int32_t *found = tables[3].buf;
    const Py_ssize_t stride = tables[0].shape[1], n_rows = tables[1].shape[0];
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t i = 0; i < n_rows; i++) {
        const int16_t *own = ranks + rows[i] * stride;
        int32_t at = 0;
        while (nodes[at].left >= 0)
            at = nodes[at].left + (own[nodes[at].feature] > nodes[at].threshold);
        found[i] = at;
    }
    Py_END_ALLOW_THREADS
    release(tables, 4);
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"grow", grow, METH_VARARGS,
     "grow(ranks, targets, rows, nodes, totals, n_features, seed, fewest, prior, is_random)\n--\n\n"
     "Grow a tree on some rows, and sort them by leaves. Return the number of nodes."},
    {"subtract", subtract, METH_VARARGS,
     "subtract(rows, nodes, values, targets)\n--\n\n"
     "Subtract from targets the values of their leaves, times the weights."},
    {"descend", descend, METH_VARARGS,
     "descend(ranks, rows, nodes, found)\n--\n\nWrite the leaf of each of these rows to found."},
    {NULL, NULL, 0, NULL},
};

DEFINE_MODULE(_tree_growth, "Trees grown best-first on integer targets.")
