/* Plain numbers, such as -2.5 or 3e-7: the double nearest to what is written. */

#ifndef FFMLP_PLAIN_NUMBERS_H
#define FFMLP_PLAIN_NUMBERS_H

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Integers of more digits may not fit into 64 bits. */
#define MOST_DIGITS 19
/* Longer exponents are left to pandas. */
#define MOST_EXPONENT_DIGITS 4

#if FLT_EVAL_METHOD == 0
/* The powers of ten that are exact doubles. */
static const double TENS[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                              1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
#define MOST_TENS 22
#endif

/* The first 64 bits of an extended double are its significand. */
#if LDBL_MANT_DIG == 64 && (defined(__x86_64__) || defined(__i386__))
#define HAS_EXTENDED
/* And those that are exact extended doubles. */
static const long double LONG_TENS[] = {1e0L,  1e1L,  1e2L,  1e3L,  1e4L,  1e5L,  1e6L,  1e7L,  1e8L,  1e9L,
                                        1e10L, 1e11L, 1e12L, 1e13L, 1e14L, 1e15L, 1e16L, 1e17L, 1e18L, 1e19L,
                                        1e20L, 1e21L, 1e22L, 1e23L, 1e24L, 1e25L, 1e26L, 1e27L};
#define MOST_LONG_TENS 27
#endif

/* Append digits to those read before; returns where they end. */
static const char *read_digits(const char *at, uint64_t *number)
{
    uint64_t all = *number;
    for (unsigned digit; (digit = (unsigned)(*at - '0')) < 10; at++)
        all = 10 * all + digit;
    *number = all;
    return at;
}

/* digits * 10^exponent, if a single rounding gives the nearest double; returns whether it does. */
static int rounded_once(uint64_t digits, int exponent, double *number)
{
#if FLT_EVAL_METHOD == 0
    if (digits <= (uint64_t)1 << DBL_MANT_DIG && exponent >= -MOST_TENS && exponent <= MOST_TENS) {
        *number = exponent < 0 ? (double)digits / TENS[-exponent] : (double)digits * TENS[exponent];
        return 1;
    }
#endif
#ifdef HAS_EXTENDED
    if (digits != 0 && exponent >= -MOST_LONG_TENS && exponent <= MOST_LONG_TENS) {
        const long double close = exponent < 0 ? (long double)digits / LONG_TENS[-exponent]
                                               : (long double)digits * LONG_TENS[exponent];
        uint64_t bits;
        memcpy(&bits, &close, sizeof bits);
        /* The second rounding drops 11 bits. It errs only where the first one has made them exactly a half. */
        if ((bits & 0x7ff) != 0x400) {
            *number = (double)close;
            return 1;
        }
    }
#endif
    return 0;
}

/* Read a number; returns where it ends, or NULL if it is not plain. */
static const char *read_number(const char *start, char decimal, double *number)
{
    const int negative = *start == '-';
    const char *first = start + negative;
    uint64_t digits = 0;
    const char *at = read_digits(first, &digits);
    ptrdiff_t n_digits = at - first, n_decimals = 0;
    if (*at == decimal) {
        const char *point = at;
        at = read_digits(at + 1, &digits);
        n_decimals = at - point - 1;
        n_digits += n_decimals;
    }
    if (n_digits == 0)
        return NULL;
    ptrdiff_t exponent = 0;
    if (*at == 'e' || *at == 'E') {
        at++;
        const int small = *at == '-';
        at += *at == '-' || *at == '+';
        uint64_t size = 0;
        const char *end = read_digits(at, &size);
        if (end == at || end - at > MOST_EXPONENT_DIGITS)
            return NULL;
        exponent = small ? -(ptrdiff_t)size : (ptrdiff_t)size;
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
        /* In some locales, strtod stops at the decimal point. */
        if (end != at || size > DBL_MAX)
            return NULL;
    }
    *number = negative ? -size : size;
    return at;
}

#endif
