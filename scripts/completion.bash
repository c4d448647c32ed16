# SPDX-License-Identifier: GPL-2.0-only
#
# bash completion for "perf-churn" and "perf churn".
#
# perf's own completion knows only built-in commands. This file sits in bash_completion.d, is read
# before it, answers for "perf churn ...", and hands everything else to perf's, loaded when first
# asked for. Options are read from "perf churn COMMAND -h", so that none can be missing here.

_perf_churn_commands()
{
	perf-churn --help 2>/dev/null | sed -n 's/^   \([a-z][a-z]*\) .*/\1/p'
}

_perf_churn_options()
{
	perf-churn "$1" -h 2>&1 | sed -nE 's/^ +(-., )?(--[a-z0-9-]+).*/\2/p; s/^ +(-[a-zA-Z]).*/\1/p'
}

# _perf_churn_reply I - complete, where word I is the subcommand of churn.
_perf_churn_reply()
{
	local i=$1 cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
	local sub=${COMP_WORDS[i]-} k

	COMPREPLY=()
	if [ "$COMP_CWORD" -eq "$i" ]; then
		COMPREPLY=($(compgen -W "$(_perf_churn_commands) --help --version" -- "$cur"))
		return
	fi
	# Behind "--" stands a command line of its own.
	for ((k = i + 1; k < COMP_CWORD; k++)); do
		if [ "${COMP_WORDS[k]}" = -- ]; then
			COMPREPLY=($(compgen -c -- "$cur"))
			return
		fi
	done
	case $prev in
	-i | --input | -o | --output | -k | --vmlinux | --kallsyms)
		COMPREPLY=($(compgen -f -- "$cur"))
		return
		;;
	--symfs)
		COMPREPLY=($(compgen -d -- "$cur"))
		return
		;;
	-p | --pid)
		COMPREPLY=($(compgen -W "$(cd /proc && printf '%s\n' [0-9]*)" -- "$cur"))
		return
		;;
	--call-graph)
		COMPREPLY=($(compgen -W 'auto fp dwarf' -- "$cur"))
		return
		;;
	--method)
		COMPREPLY=($(compgen -W 'auto preload uprobe' -- "$cur"))
		return
		;;
	esac
	case $cur in
	-*) COMPREPLY=($(compgen -W "$(_perf_churn_options "$sub")" -- "$cur")) ;;
	*) [[ $sub =~ ^(record|list|run)$ ]] && COMPREPLY=($(compgen -c -- "$cur")) ;;
	esac
}

_perf_churn()
{
	_perf_churn_reply 1
}

# perf's completion, loaded once: sets _perf_churn_stock to its function, or to "-" for none.
_perf_churn_load_stock()
{
	local dir spec

	for dir in ${BASH_COMPLETION_USER_DIR:-${XDG_DATA_HOME:-$HOME/.local/share}/bash-completion} \
		/usr/local/share/bash-completion /usr/share/bash-completion; do
		[ -r "$dir/completions/perf" ] || continue
		. "$dir/completions/perf" >/dev/null 2>&1
		break
	done
	spec=$(complete -p perf 2>/dev/null)
	_perf_churn_stock=-
	[[ $spec =~ \ -F\ ([^ ]+) ]] && [ "${BASH_REMATCH[1]}" != _perf_with_churn ] &&
		_perf_churn_stock=${BASH_REMATCH[1]}
	complete -o bashdefault -o default -o nospace -F _perf_with_churn perf
}

_perf_with_churn()
{
	if [ "${COMP_WORDS[1]-}" = churn ] && [ "$COMP_CWORD" -gt 1 ]; then
		compopt +o nospace 2>/dev/null
		_perf_churn_reply 2
		return
	fi
	[ -n "${_perf_churn_stock-}" ] || _perf_churn_load_stock
	[ "$_perf_churn_stock" = - ] || "$_perf_churn_stock" "$@"
	if [ "$COMP_CWORD" -eq 1 ] && [[ churn == "${COMP_WORDS[1]-}"* ]]; then
		COMPREPLY+=('churn ')
	fi
}

complete -o bashdefault -o default -F _perf_churn perf-churn

# Another completion of perf may be in force already; keep it behind ours.
if _perf_churn_spec=$(complete -p perf 2>/dev/null); then
	[[ $_perf_churn_spec =~ \ -F\ ([^ ]+) ]] && [ "${BASH_REMATCH[1]}" != _perf_with_churn ] &&
		_perf_churn_stock=${BASH_REMATCH[1]}
fi
unset _perf_churn_spec
complete -o bashdefault -o default -o nospace -F _perf_with_churn perf
