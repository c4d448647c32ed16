#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# make install puts everything where perf, man and bash find it.

make_output=${OUTPUT:-build}
. tests/lib.sh

# install_to FOLDER VARIABLE=VALUE... - with the variables that the build itself was called with
install_to()
{
	local dir=$1

	shift
	eval "OUTPUT=$make_output CI= make ${MAKE_VARS:-} install DESTDIR='$dir' $*" >"$T/log" 2>&1 &&
		return
	diag_file "$T/log" 40
	return 1
}

# complete_words WORD... - what completion offers for the last word
complete_words()
{
	PATH=$root/bin:$PATH bash --norc -c '
		. "$1"
		shift
		COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
		compopt() { :; }
		if [ "$1" = perf ]; then _perf_with_churn "$1" "${@: -1}"; else _perf_churn; fi
		printf "%s\n" "${COMPREPLY[@]}"' bash "$root/share/bash-completion/completions/perf-churn" \
		"$@" 2>"$T/completion.err" | sed 's/ *$//' >"$T/words"
}

check "make install" install_to "$T/a" PREFIX=/usr || finish
root=$T/a/usr
check "PREFIX=/usr puts the program into bin" test -x "$root/bin/perf-churn"
for page in Documentation/perf-churn*.txt; do
	name=$(basename "$page" .txt)
	has "man page $name" '^\.SH "NAME"$' "$root/share/man/man1/$name.1"
done
check "bash reads the completion at its start" test -r "$T/a/etc/bash_completion.d/perf-churn"
if need_tool "$PERF" "perf runs the installed program"; then
	PATH=$root/bin:/usr/bin:/bin "$PERF" churn --version >"$T/version" 2>&1
	has "perf runs the installed program" '^perf-churn version' "$T/version"
fi

complete_words perf-churn ''
has "completion of perf-churn offers record" '^record$' "$T/words"
complete_words perf churn rep
is "completion of perf churn" report "$(cat "$T/words")"
complete_words perf churn record --call-g
has "completion offers the options of record" '^--call-graph$' "$T/words"
complete_words perf churn report --js
has "completion offers the options of report" '^--json$' "$T/words"
complete_words perf-churn list --en
is "completion offers the options of list" --env "$(cat "$T/words")"
complete_words perf-churn run mktem
has "completion offers commands to run" '^mktemp$' "$T/words"
complete_words perf ch
has "completion of perf offers churn" '^churn$' "$T/words"
if [ -r /usr/share/bash-completion/completions/perf ]; then
	complete_words perf reco
	has "perf's own completion goes on to work" '^record$' "$T/words"
	lacks "and offers no churn there" 'churn' "$T/words"
	complete_words perf record --call-
	has "for perf's own options, too" '^--call-graph' "$T/words"
fi

check "make install to another prefix" install_to "$T/b" PREFIX=/opt/churn
check "keeps all of it below that prefix" \
	[ "$(find "$T/b" -type f | grep -vc "^$T/b/opt/churn/")" = 0 ]
finish
