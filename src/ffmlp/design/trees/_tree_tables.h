/* The nodes of a grown tree, and whether tables fit each other: loops and memory rely on it. */

/* The samples of a node are rows first to end; ranks up to the threshold go left. A leaf has no left child. */
typedef struct {
    int32_t feature, threshold, left, first, end;
} Node;
#define NODE_COLUMNS 5
/* Features are read eight at a time: the ranks of further columns are constant. */
#define WIDTH 8
#define MOST_CHANNELS 8

static int refused(Py_buffer *tables, int n)
{
    release(tables, n);
    PyErr_SetString(PyExc_ValueError, "Ranks, targets, rows, nodes and values do not fit each other.");
    return -1;
}

/* Whether sums of the targets of these rows, which exist, are smaller than 2^31. */
static int sums_are_exact(const int32_t *targets, const int32_t *rows, Py_ssize_t n_rows, Py_ssize_t n_channels)
{
    uint64_t sums[MOST_CHANNELS] = {0};
    for (Py_ssize_t i = 0; i < n_rows; i++) {
        const int32_t *target = targets + rows[i] * n_channels;
        for (Py_ssize_t k = 0; k < n_channels; k++)
            sums[k] += target[k] < 0 ? 0u - (uint32_t)target[k] : (uint32_t)target[k];
    }
    for (Py_ssize_t k = 0; k < n_channels; k++)
        if (sums[k] > INT32_MAX)
            return 0;
    return 1;
}

/* Ranks (n, S), targets (n, K), rows (m,), nodes (M, 5) and totals (M, K). */
static int can_grow(const Py_buffer *tables, Py_ssize_t n_features)
{
    const Py_ssize_t *ranks = tables[0].shape, *targets = tables[1].shape, *nodes = tables[3].shape;
    const Py_ssize_t n_rows = tables[2].shape[0], n_channels = targets[1];
    return ranks[1] % WIDTH == 0 && 0 < n_features && n_features <= ranks[1] && n_channels >= 2 &&
           n_channels <= MOST_CHANNELS && targets[0] == ranks[0] && n_rows > 0 && n_rows <= ranks[0] &&
           nodes[0] % 2 == 1 && nodes[0] < INT32_MAX && nodes[1] == NODE_COLUMNS && tables[4].shape[0] == nodes[0] &&
           tables[4].shape[1] == n_channels && are_within(&tables[2], ranks[0]) &&
           sums_are_exact(tables[1].buf, tables[2].buf, n_rows, n_channels);
}

/* Rows (m,), nodes (M, 5), values (M, K - 1) and targets (n, K). */
static int can_subtract(const Py_buffer *tables)
{
    const Py_ssize_t *nodes = tables[1].shape, *values = tables[2].shape, *targets = tables[3].shape;
    const Node *node = tables[1].buf;
    if (nodes[1] != NODE_COLUMNS || values[0] != nodes[0] || values[1] + 1 != targets[1] ||
        !are_within(&tables[0], targets[0]))
        return 0;
    for (Py_ssize_t i = 0; i < nodes[0]; i++)
        if (node[i].first < 0 || node[i].end > tables[0].shape[0])
            return 0;
    return 1;
}

/* Ranks (n, S), rows (m,), nodes (M, 5), where children come after their parents, and found (m,). */
static int can_descend(const Py_buffer *tables)
{
    const Py_ssize_t *ranks = tables[0].shape, *nodes = tables[2].shape;
    const Node *node = tables[2].buf;
    if (nodes[0] < 1 || nodes[1] != NODE_COLUMNS || tables[3].shape[0] != tables[1].shape[0] ||
        !are_within(&tables[1], ranks[0]))
        return 0;
    for (Py_ssize_t i = 0; i < nodes[0]; i++)
        if (node[i].left >= 0 && (node[i].left <= i || node[i].left >= nodes[0] - 1 || node[i].feature < 0 ||
                                  node[i].feature >= ranks[1]))
            return 0;
    return 1;
}
