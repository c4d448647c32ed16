# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034
#
# programs.sh - programs as the distribution ships them, without frame pointers, and work for each that
# takes 2 to 4 s on a slow machine while nobody looks. Each allocates some 100000 times a second or
# more, each of which costs a trap while it is recorded: less work is more then. To be sourced:
#
#	make_program_inputs DIR [PERCENT]	of that work; g++ and clang have no less than one template
#	for name in $PROGRAM_NAMES; do
#		program_command NAME DIR	the command in the array $program
#	done
#
# redis serves a benchmark that runs beside it; its command ends when the benchmark does.

# python3 has an allocator of its own otherwise.
export PYTHONMALLOC=malloc
PROGRAM_NAMES="jq xmllint sqlite3 python3 redis g++ clang"

# make_program_inputs DIR [PERCENT]
make_program_inputs()
{
	/usr/bin/python3 - "$1" "${2:-100}" <<-'END'
	import sys
	dir, percent = sys.argv[1], int(sys.argv[2])
	def some(nr):
	    return max(1, nr * percent // 100)
	with open(dir + "/in.json", "w") as f:
	    f.write("[" + ",".join('{"id":%d,"name":"user %d","tags":["a","b%d"],"v":%d.5}'
	                           % (i, i * 7919, i % 13, i) for i in range(some(120000))) + "]")
	with open(dir + "/in.xml", "w") as f:
	    f.write("<list>" + "".join('<item id="%d" kind="k%d"><name>n%d</name><text>some &amp; text</text></item>'
	                               % (i, i % 7, i) for i in range(some(200000))) + "</list>")
	with open(dir + "/in.sql", "w") as f:
	    f.write("create table t(a integer primary key, b text, c real);\n"
	            "with recursive n(i) as (select 1 union all select i + 1 from n where i < %d)\n"
	            "insert into t select i, 'row ' || (i * 31 %% 100003), i * 0.25 from n;\n"
	            % some(900000) +
	            "create index i on t(b);\n"
	            "select count(*) from (select group_concat(a) from t group by substr(b, 1, 7));\n"
	            "select sum(length(printf('%s-%d', b, a))) from t;\n")
	with open(dir + "/in.py", "w") as f:
	    f.write("import json\n"
	            "class Node:\n"
	            "    def __init__(self, left, right):\n"
	            "        self.left, self.right = left, right\n"
	            "    def depth(self):\n"
	            "        return 1 + max(n.depth() if n else 0 for n in (self.left, self.right))\n"
	            "def grow(n):\n"
	            "    return Node(grow(n - 1), grow(n - 1)) if n else Node(None, None)\n"
	            "for turn in range(%d):\n" % some(5) +
	            "    grow(13).depth()\n"
	            "    words = {'k%d' % i: [i, str(i)] for i in range(60000)}\n"
	            "    json.loads(json.dumps(words))\n"
	            "    sorted(words, key=lambda k: words[k][1])\n")
	with open(dir + "/in.cpp", "w") as f:
	    f.write("#include <algorithm>\n#include <functional>\n#include <map>\n#include <memory>\n"
	            "#include <string>\n#include <tuple>\n#include <unordered_map>\n"
	            "#include <variant>\n#include <vector>\n"
	            "template <int N> struct Key { int v; bool operator<(const Key &o) const { return v < o.v; } };\n"
	            "template <int N> int use() {\n"
	            "    std::map<Key<N>, std::vector<std::string>> m;\n"
	            "    m[Key<N>{N}].push_back(std::to_string(N));\n"
	            "    std::variant<Key<N>, std::string> v = Key<N>{N};\n"
	            "    std::function<int()> f = [&] { return (int)m.size(); };\n"
	            "    std::vector<Key<N>> k(N + 1);\n    std::sort(k.begin(), k.end());\n"
	            "    return f() + std::visit([](auto &x) { return (int)sizeof(x); }, v);\n}\n"
	            "template <int... N> int all(std::integer_sequence<int, N...>) { return (use<N>() + ...); }\n"
	            "int main() { return all(std::make_integer_sequence<int, %d>()); }\n" % some(5))
	END
	echo $((200 * ${2:-100})) >"$1/redis.requests"
	cat >"$1/redis.sh" <<-'END'
	# redis.sh PORT REQUESTS - a server, and a benchmark on it which is the last to allocate
	redis-server --port "$1" --save '' --appendonly no --bind 127.0.0.1 >/dev/null &
	server=$!
	for try in 1 2 3 4 5 6 7 8 9 10; do
		redis-cli -p "$1" ping >/dev/null 2>&1 && break
		sleep 0.1
	done
	timeout 20 redis-benchmark -q -p "$1" -n "$2" -d 200 -t set,lpush,lpop,sadd </dev/null >/dev/null
	kill -TERM $server
	wait $server
	END
}

# program_command NAME DIR - sets $program
program_command()
{
	case $1 in
	jq) program=(jq -c 'group_by(.id % 100) | map({n: length, t: (map(.name) | join(","))})' "$2/in.json") ;;
	xmllint) program=(xmllint --format --xpath '//item[@kind="k3"]/name' "$2/in.xml") ;;
	sqlite3) program=(sqlite3 :memory: ".read $2/in.sql") ;;
	python3) program=(/usr/bin/python3 -S "$2/in.py") ;;
	redis) program=(/bin/sh "$2/redis.sh" "$((20000 + $$ % 10000))" "$(cat "$2/redis.requests")") ;;
	g++) program=(g++ -std=c++17 -O1 -S -o /dev/null "$2/in.cpp") ;;
	clang) program=(clang++ -std=c++17 -O1 -S -o /dev/null "$2/in.cpp") ;;
	*) return 1 ;;
	esac
}

# program_missing NAME - the tool that it lacks, if any
program_missing()
{
	local tool

	for tool in $(case $1 in redis) echo redis-server redis-benchmark redis-cli ;; clang) echo clang++ ;; *) echo "$1" ;; esac); do
		command -v "$tool" >/dev/null || echo "$tool"
	done
}
