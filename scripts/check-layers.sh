#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# check-layers.sh [ROOT] - fail on an #include "..." that crosses a wall between rooms.
#
# Data flows one way, and record and report meet only in the file:
#
#   record:  target -> probe -> trace -> stack -> perfdata (writer, synth)
#   report:  perfdata (reader) -> stack -> churn -> view
#
# A new edge is a change of the design: say so in Documentation/design.txt.
set -u
cd "${1:-$(dirname "$0")/..}" || exit 1

# Which files may include what, besides headers of their own room. The first row whose pattern
# fits the file decides. bpf/churn.h, the event ABI, is open to all.
table='
plugin/perf-churn.c       cmd/cmds.h
plugin/util/*
plugin/target/*           util/* bpf/preload.h
plugin/probe/*            util/* target/* bpf/preload.h
plugin/trace/*            util/* target/* probe/* bpf/control.h bpf/preload.h bpf/walk*.h *.skel.h
plugin/stack/*            util/* target/* probe/* trace/* bpf/walk*.h perfdata/reader.h
plugin/perfdata/synth*    util/* target/* probe/* trace/* stack/*
plugin/perfdata/writ*     util/* target/* probe/* trace/* stack/*
plugin/perfdata/*         util/*
plugin/churn/*            util/* perfdata/reader.h stack/*
plugin/view/*             util/* perfdata/reader.h stack/* churn/*
plugin/cmd/*              bpf/preload.h bpf/walk_tables.h util/* target/* probe/* trace/* stack/* perfdata/* churn/* view/*
plugin/preload/*          bpf/preload.h
bpf/*                     vmlinux.h
'
set -f

# allowed FILE HEADER
allowed() {
	local file_pattern headers pattern

	while read -r file_pattern headers; do
		[ -n "$file_pattern" ] || continue
		# shellcheck disable=SC2254
		case $1 in
		$file_pattern) ;;
		*) continue ;;
		esac
		for pattern in $headers bpf/churn.h; do
			# shellcheck disable=SC2254
			case $2 in
			$pattern) return 0 ;;
			esac
		done
		return 1
	done <<<"$table"
	return 1
}

bad=0
while IFS=: read -r file line text; do
	header=${text#*\"}
	header=${header%%\"*}
	# A header of its own room, which the compiler finds beside the file.
	[[ $header != */* && -e ${file%/*}/$header && $file != plugin/perf-churn.c ]] && continue
	allowed "$file" "$header" && continue
	echo "$file:$line: may not include \"$header\" (see the table in scripts/check-layers.sh)"
	bad=1
done < <(grep -rnE --include='*.[ch]' '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' plugin bpf)
exit $bad
