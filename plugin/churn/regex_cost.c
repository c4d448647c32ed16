// SPDX-License-Identifier: GPL-2.0-only
/*
 * glibc's regcomp() writes repetitions out: a+ as aa*, a{2,9} as nine a's. Nested they multiply, which
 * takes hours; its recursion over nested groups overflows the stack; and back references make regexec()
 * try all ways to match. So count what a regular expression is when written out.
 */
#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "regex_cost.h"

/*
 * @nr: Atoms of each open group so far, written out; the expression itself is the outermost.
 * @last: Of these, those that a repetition that comes next repeats.
 */
struct cost {
	unsigned int nr[REGEX_MAX_DEPTH + 1];
	unsigned int depth, last;
	bool has_backref;
};

static void add_atoms(struct cost *c, unsigned int nr)
{
	c->last = nr;
	c->nr[c->depth] += nr;
}

/* [...] with what may stand in it: ] in front, and [:classes:]. Return: its last character. */
static const char *skip_bracket(const char *p)
{
	const char *end;

	p += p[1] == '^' ? 2 : 1;
	if (*p == ']')
		p++;
	for (; *p && *p != ']'; p++) {
		if (*p == '[' && p[1] && strchr(":.=", p[1])) {
			for (end = p + 2; *end && (*end != p[1] || end[1] != ']'); end++)
				;
			p = *end ? end + 1 : end - 1;
		}
	}
	return *p ? p : p - 1;
}

/* {m}, {m,}, {m,n}: *p moves to its last character. Return: the highest number; 1 at least. */
static unsigned int highest_count(const char **p)
{
	unsigned int value = 0, highest = 1;

	for (; isdigit((unsigned char)(*p)[1]) || (*p)[1] == ','; ++*p) {
		value = (*p)[1] == ',' ? 0 : value * 10 + ((*p)[1] - '0');
		if (value > REGEX_MAX_ATOMS)
			value = REGEX_MAX_ATOMS + 1;
		if (value > highest)
			highest = value;
	}
	if ((*p)[1] == '}')
		highest += *(*p)++ == ',';
	return highest;
}

static void repeat_last(struct cost *c, unsigned int times)
{
	c->nr[c->depth] += c->last * (times - 1);
	c->last *= times;
}

static void close_group(struct cost *c)
{
	unsigned int nr = c->nr[c->depth];

	if (!c->depth)
		return;
	c->depth--;
	add_atoms(c, nr);
}

static bool open_group(struct cost *c)
{
	if (c->depth == REGEX_MAX_DEPTH)
		return false;
	c->nr[++c->depth] = 0;
	return true;
}

/* Return: false when groups are nested too deeply. *p moves to the last character of what is taken. */
static bool take(struct cost *c, const char **p)
{
	switch (**p) {
	case '(':
		return open_group(c);
	case ')':
		close_group(c);
		break;
	case '+':
		repeat_last(c, 2);
		break;
	case '{':
		repeat_last(c, highest_count(p));
		break;
	case '[':
		*p = skip_bracket(*p);
		add_atoms(c, 1);
		break;
	case '\\':
		if (!(*p)[1])
			break;
		++*p;
		c->has_backref |= isdigit((unsigned char)**p);
		add_atoms(c, 1);
		break;
	default:
		add_atoms(c, 1);
	}
	return true;
}

const char *regex_cost__refuse(const char *regex)
{
	struct cost c = {};
	const char *p;

	if (!regex[0])
		return "an empty expression matches every name";
	if (strlen(regex) > REGEX_MAX_BYTES)
		return "longer than 1000 characters";
	for (p = regex; *p; p++) {
		if (!take(&c, &p))
			return "groups nested deeper than 50";
		if (c.nr[c.depth] > REGEX_MAX_ATOMS)
			return "its repetitions multiply to more than 1000";
	}
	return c.has_backref ? "back references are not supported" : NULL;
}
