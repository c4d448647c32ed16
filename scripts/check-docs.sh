#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# check-docs.sh [ROOT] - fail unless each option in a subcommand's table is in its man page, and the
# reverse.
#
# plugin/cmd/cmd_X.c (and X_*.c beside it) against Documentation/perf-churn-X.txt. In a page an
# option is a line of its own that ends in "::": "-z <bytes>::", "--min-size=<bytes>::".
set -u
cd "${1:-$(dirname "$0")/..}" || exit 1

# code_options FILE... - "-z" and "--min-size", one a line.
code_options() {
	cat "$@" | tr '\n\t' '  ' |
		grep -oE "OPT_[A-Z_0-9]+\( *('.'|0), *(\"[^\"]*\"|NULL)" |
		sed -E "s/^[^(]*\( *//; s/^'(.)', */-\1 /; s/^0, *//; s/\"([^\"]*)\"/--\1/; s/NULL//" |
		tr ' ' '\n' | sed '/^$/d' | sort -u
}

# doc_options FILE
doc_options() {
	sed -n 's/::$//p' "$1" | sed 's/, */\n/g' |
		sed -nE 's/^(-[A-Za-z0-9?]|--[a-z0-9-]+)($|[][<= ].*)/\1/p' | sort -u
}

# libsubcmd takes --no-X for each boolean --X, and X for a table's "no-X".
positive() { sed '/^$/d; s/^--no-/--/' | sort -u; }

bad=0
complain() { echo "$1"; bad=1; }

for source in plugin/cmd/cmd_*.c; do
	[ -e "$source" ] || continue
	name=${source##*/cmd_}
	name=${name%.c}
	page=Documentation/perf-churn-$name.txt
	if [ ! -e "$page" ]; then
		complain "$source: has no man page $page"
		continue
	fi
	shopt -s nullglob
	tables=(plugin/cmd/cmd_"$name"*.c plugin/cmd/"$name"_*.c)
	shopt -u nullglob
	code=$(code_options "${tables[@]}")
	docs=$(doc_options "$page")
	while read -r option; do
		complain "$page: does not describe $option of $source"
	done < <(comm -23 <(positive <<<"$code") <(positive <<<"$docs"))
	while read -r option; do
		complain "$source: has no option $option, which $page describes"
	done < <(comm -13 <(positive <<<"$code") <(positive <<<"$docs"))
done
for page in Documentation/perf-churn-*.txt; do
	name=${page#*perf-churn-}
	[ ! -e "$page" ] || [ -e "plugin/cmd/cmd_${name%.txt}.c" ] ||
		complain "$page: there is no plugin/cmd/cmd_${name%.txt}.c"
done
[ -e Documentation/perf-churn.txt ] || complain "Documentation/perf-churn.txt is missing"
exit $bad
