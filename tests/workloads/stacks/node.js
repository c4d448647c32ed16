// SPDX-License-Identifier: GPL-2.0-only
/*
 * node.js - compiled JavaScript below known functions, for SECONDS of CPU time.
 *
 *	node ... node.js SECONDS
 *
 * js_outer -> js_middle -> js_inner, of which js_inner allocates and takes nearly all the time.
 */
'use strict';

function js_inner(n)
{
	const parts = [];

	for (let i = 0; i < n; i++)
		parts.push({ name: 'part' + i, value: i * 1.5 });
	return parts.reduce((sum, part) => sum + part.value + part.name.length, 0);
}

function js_middle(n)
{
	let sum = 0;

	for (let i = 0; i < 100; i++)
		sum += js_inner(n) % 7;
	return sum;
}

function js_outer(seconds)
{
	let sum = 0;

	while (process.cpuUsage().user < seconds * 1e6)
		sum += js_middle(300);
	return sum;
}

js_outer(Number(process.argv[2] || 2));
