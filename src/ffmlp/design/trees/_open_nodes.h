/* The nodes of a tree that can be split, the one of largest gain first. */

typedef struct {
    int32_t number, feature, threshold;
    double gain;
    int32_t *counts; /* (F, N_BINS, K) sums of the targets, for best splits */
} Open;

typedef struct {
    Open *nodes;
    Py_ssize_t n_nodes;
} Heap;

static int comes_first(const Open *a, const Open *b)
{
    return a->gain > b->gain || (a->gain == b->gain && a->number < b->number);
}

static void push(Heap *heap, Open node)
{
    Py_ssize_t at = heap->n_nodes++;
    while (at > 0 && comes_first(&node, &heap->nodes[(at - 1) / 2])) {
        heap->nodes[at] = heap->nodes[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap->nodes[at] = node;
}

static Open pop(Heap *heap)
{
    const Open first = heap->nodes[0], last = heap->nodes[--heap->n_nodes];
    Py_ssize_t at = 0;
    for (;;) {
        Py_ssize_t child = 2 * at + 1;
        if (child >= heap->n_nodes)
            break;
        if (child + 1 < heap->n_nodes && comes_first(&heap->nodes[child + 1], &heap->nodes[child]))
            child++;
        if (!comes_first(&heap->nodes[child], &last))
            break;
        heap->nodes[at] = heap->nodes[child];
        at = child;
    }
    heap->nodes[at] = last;
    return first;
}
