/* SPDX-License-Identifier: MIT */
/*
 * vjson - the verdict as JSON, for scripts and the campaign. Fields are only
 * ever added (docs/man/plugpull-verifier.1).
 */
#ifndef VERIFIER_VJSON_H
#define VERIFIER_VJSON_H

#include "verifier/conclude.h"

struct err;

/* PATH "-" is stdout. */
int vjson_write(const struct result *result, const char *path, struct err *err);

#endif
